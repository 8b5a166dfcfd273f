// Against a library that answers as the driver does (fake_driver.cpp): what works, and that whatever fails ends in one
// line and leaves nothing behind.
#include "tessera/device/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <regex>
#include <sstream>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/device/fake_driver.h"

namespace tessera::device {
namespace {

using test::expect_says;

/// Has the fake driver as a test wants it, and a folder with kernels for compute capabilities from 8.0 on.
class DeviceTest : public testing::Test {
 protected:
  DeviceTest() : folder_(std::filesystem::path(testing::TempDir()) / ("tessera-device-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "tessera-some.fatbin") << 80;
    std::ofstream(folder_ / "other.fatbin") << "not ours";
    set("");
  }
  ~DeviceTest() override {
    EXPECT_EQ(ask<fake::FakeNumber>("fake_driver_held")(), 0) << "something was not given back";
    std::filesystem::remove_all(folder_);
    unsetenv("TESSERA_FAKE_DRIVER");
  }

  /// Says what the driver has and what fails, and forgets its calls.
  static void set(const std::string& settings) {
    setenv("TESSERA_FAKE_DRIVER", settings.c_str(), 1);
    ask<fake::FakeAction>("fake_driver_reset")();
  }
  template <class Function>
  static Function* ask(const char* name) {
    return reinterpret_cast<Function*>(dlsym(dlopen(TESSERA_FAKE_DRIVER, RTLD_NOW), name));
  }
  static std::vector<std::string> calls() {
    std::istringstream names(ask<fake::FakeText>("fake_driver_calls")());
    return {std::istream_iterator<std::string>(names), {}};
  }

  /// Returns the error in which an action ends, which is one line.
  template <class Action>
  static std::string error_of(const Action& action) {
    std::string message = test::message_of<RunError>(action);
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  static std::string error_of_driver(const std::string& settings) {
    set(settings);
    return error_of([] { const Driver driver(TESSERA_FAKE_DRIVER); });
  }
  /// Does all that a program does with a device, and returns numbers that it has doubled.
  std::vector<std::int32_t> double_numbers() const {
    const Driver driver(TESSERA_FAKE_DRIVER);
    const Device device(driver, 0);
    const Kernels kernels(device, folder_);
    const Kernel kernel = kernels.find("tessera_double");
    const Stream stream(device);
    const Event begin(device), end(device);
    const DeviceArray<std::int32_t> numbers(device, 5), nothing(device, 0), cleared(device, 5);
    HostArray<std::int32_t> pinned(device);
    pinned.resize(device, 1);
    pinned.resize(device, 5);
    const auto host = pinned.get();
    std::vector<std::int32_t> zeros(5, -1);
    std::iota(host.begin(), host.end(), 1);
    numbers.start_copy_from(host, stream);
    nothing.start_copy_from({}, stream);
    nothing.start_copy_to({}, stream);
    nothing.start_clear(stream);
    cleared.start_clear(stream);
    cleared.start_copy_to(zeros, stream);
    begin.record(stream);
    kernel.start(stream, 1, 32, fake::DoubleArguments{numbers.data(), 5});
    end.record(stream);
    numbers.start_copy_to(host, stream);
    stream.wait();
    end.wait();
    EXPECT_EQ(end.seconds_since(begin), 0.0015);
    EXPECT_EQ(zeros, std::vector<std::int32_t>(5, 0));
    EXPECT_EQ(device.free_bytes(), 1'000'000'000 - 40);
    return {host.begin(), host.end()};
  }

  std::filesystem::path folder_;
};

TEST_F(DeviceTest, ComputesWithWhatTheDriverGives) {
  EXPECT_EQ(double_numbers(), (std::vector<std::int32_t>{2, 4, 6, 8, 10}));
}

TEST_F(DeviceTest, EveryFailureIsOneLineAndNothingIsKept) {
  double_numbers();
  const auto names = calls();
  EXPECT_GT(names.size(), 30U);
  for (std::size_t n = 1; n <= names.size(); ++n) {
    set("fail_call=" + std::to_string(n));
    const std::string message = error_of([&] { double_numbers(); }), &name = names[n - 1];
    const bool gives_back = std::regex_search(name, std::regex("Free|Destroy|Unload|Release"));
    if (gives_back) {
      EXPECT_EQ(message, "");
    } else {
      expect_says(message, name + " failed with CUDA_ERROR_UNKNOWN (999): unknown error");
    }
    EXPECT_EQ(ask<fake::FakeNumber>("fake_driver_held")(), 0) << name;
  }
}

TEST_F(DeviceTest, DriversThatAreNoneAreRefused) {
  const std::string none = error_of([] { const Driver driver("libcuda-that-is-not-there.so.1"); });
  expect_says(none, "there is no NVIDIA driver here (libcuda-that-is-not-there.so.1: cannot open");
  expect_says(none, "install version 580 or later");
  expect_says(error_of([] { const Driver driver("libm.so.6"); }), "libm.so.6 has no cuDriverGetVersion");
}

TEST_F(DeviceTest, OldDriversAreRefusedBeforeTheyStart) {
  expect_says(error_of_driver("cuda=12080"), "too old: it has CUDA 12.8, Tessera needs 13.0; install version 580");
  EXPECT_EQ(calls(), std::vector<std::string>{"cuDriverGetVersion"});
  EXPECT_EQ(error_of_driver("cuda=13010"), "");
}

TEST_F(DeviceTest, HostsWithoutDevicesAreToldSo) {
  expect_says(error_of_driver("devices=0"), "the NVIDIA driver finds no GPU");
  expect_says(error_of_driver("cuInit=100"), "the NVIDIA driver finds no GPU");
  expect_says(error_of_driver("cuInit=803"), "the NVIDIA driver: cuInit failed with an unknown error (803)");
}

TEST_F(DeviceTest, FactsAreThoseOfTheDevice) {
  set("devices=2 capability=120 memory=80000000000");
  const Driver driver(TESSERA_FAKE_DRIVER);
  EXPECT_EQ(driver.n_devices(), 2);
  EXPECT_EQ(text_of_cuda(driver.cuda()), "13.0");
  const DeviceFacts facts = facts_of_device(driver, 1);
  EXPECT_EQ(facts.name, "Fake 1");
  EXPECT_EQ(facts.capability(), "12.0");
  EXPECT_EQ(facts.multiprocessors, 132);
  EXPECT_EQ(facts.bytes, 80'000'000'000);
}

TEST_F(DeviceTest, ErrorsNameTheDevice) {
  set("cuLaunchKernel=719");
  EXPECT_EQ(error_of([&] { double_numbers(); }),
            "the GPU Fake 0: cuLaunchKernel failed with CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure");
  set("cuStreamSynchronize=719");
  expect_says(error_of([&] { double_numbers(); }), "the GPU Fake 0: cuStreamSynchronize failed with CUDA_ERROR_LAUNCH");
}

TEST_F(DeviceTest, TooLittleMemoryIsToldWithWhatIsFree) {
  set("memory=10000000");
  const Driver driver(TESSERA_FAKE_DRIVER);
  const Device device(driver, 0);
  const DeviceArray<double> fits(device, 500'000);
  expect_says(error_of([&] { const DeviceArray<double> more(device, 1'000'000); }),
              "the GPU Fake 0 has too little memory: 0.008 GB are needed at once, 0.006 of 0.010 GB are free");
}

TEST_F(DeviceTest, CopiesBeyondAnArrayAreRefused) {
  const Driver driver(TESSERA_FAKE_DRIVER);
  const Device device(driver, 0);
  const Stream stream(device);
  const DeviceArray<double> array(device, 3);
  std::vector<double> host(4);
  EXPECT_THROW(array.start_copy_from(host, stream), InternalError);
  EXPECT_THROW(array.start_copy_to(host, stream), InternalError);
}

TEST_F(DeviceTest, KernelsMustBeThereAndCoverTheDevice) {
  set("capability=70");
  const Driver driver(TESSERA_FAKE_DRIVER);
  const Device device(driver, 0);
  const auto error_in = [&](const std::string& folder) {
    return error_of([&] { const Kernels kernels(device, folder_ / folder); });
  };
  expect_says(error_in(""), "the GPU Fake 0 has compute capability 7.0, for which");
  expect_says(error_in(""), "tessera-some.fatbin has no code");
  expect_says(error_in("none"), "Tessera was built without them");
  std::filesystem::create_directory(folder_ / "damaged");
  std::ofstream(folder_ / "damaged" / "tessera-x.fatbin") << "damaged";
  expect_says(error_in("damaged"), "tessera-x.fatbin: cuModuleLoad failed with an unknown error (200)");
  set("");
  const Kernels kernels(device, folder_);
  expect_says(error_of([&] { kernels.find("tessera_halve"); }), "there is no kernel tessera_halve in");
}

TEST_F(DeviceTest, FatBinariesAreBesideThePrograms) {
  EXPECT_EQ(fat_binaries(folder_), std::vector<std::filesystem::path>{folder_ / "tessera-some.fatbin"});
  EXPECT_TRUE(std::filesystem::exists(folder_of_program() / program_invocation_short_name));
}

}  // namespace
}  // namespace tessera::device
