// A device that is the host, for tests of what computes on one.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "tessera/base/simd/lane/host_lanes.h"
#include "tessera/device/device.h"
#include "tessera/device/fake_driver.h"

namespace tessera::device::test {

/// Tells whether the test can be made here, and says so if not.
#define TESSERA_NEEDS_HOST_LANES() \
  if (!tessera::simd::has_host_lanes()) GTEST_SKIP() << "the host's lanes need AVX2"

/// A device that is this host (fake_driver.cpp), with code for its kernels.
class DeviceOfHost {
 public:
  DeviceOfHost() : folder_(std::filesystem::path(testing::TempDir()) / ("tessera-device-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "tessera-md.fatbin") << 80;
    open();
  }
  ~DeviceOfHost() {
    std::filesystem::remove_all(folder_);
    set("");
  }

  DeviceInUse& get() { return *in_use_; }
  /// Opens the device, or opens it again: none that was given up.
  void open() {
    set("");
    in_use_.emplace(0, TESSERA_FAKE_DRIVER, folder_);
  }
  /// Says what fails and in which order warps have their turns, and counts calls from here on.
  static void set(const std::string& settings) {
    setenv("TESSERA_FAKE_DRIVER", settings.c_str(), 1);
    ask<fake::FakeAction>("fake_driver_reset")();
  }
  static std::size_t n_calls() {
    std::istringstream names(ask<fake::FakeText>("fake_driver_calls")());
    return static_cast<std::size_t>(std::distance(std::istream_iterator<std::string>(names), {}));
  }

 private:
  template <class Function>
  static Function* ask(const char* name) {
    return reinterpret_cast<Function*>(dlsym(dlopen(TESSERA_FAKE_DRIVER, RTLD_NOW), name));
  }

  std::filesystem::path folder_;
  std::optional<DeviceInUse> in_use_;
};

}  // namespace tessera::device::test
