// NVIDIA's driver, as a program finds it when it runs: the library is opened by its name, and nothing is linked with CUDA
// (docs/design/gpu.md#the-driver). What the driver gives is owned by an object, which gives it back.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tessera/device/abi.h"

namespace tessera::device {

constexpr const char* driver_library = "libcuda.so.1";
constexpr int least_cuda = 13000;  // 1000 × major + 10 × minor: of the compiler (scripts/gpu_requirements.txt)

/// A function of the driver.
template <class... Parameters>
struct DriverFunction {
  const char* name;
  abi::Result (*call)(Parameters...);
};

struct DriverFunctions {
#define TESSERA_FUNCTION(name, ...) DriverFunction<__VA_ARGS__> name{#name, nullptr};
  TESSERA_DRIVER_FUNCTIONS(TESSERA_FUNCTION)
#undef TESSERA_FUNCTION
};

class Driver : public DriverFunctions {
 public:
  /// Opens the driver's library and starts it. Throws RunError where there is none, an older one than least_cuda, or no
  /// device.
  explicit Driver(const std::string& library = driver_library);

  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  int cuda() const { return cuda_; }  // as least_cuda
  int n_devices() const { return n_devices_; }

  /// Throws RunError where a function failed, of which `subject` is told: "the GPU …".
  void check(abi::Result result, const char* function, const std::string& subject) const;
  /// Calls a function of the driver. Throws RunError.
  template <class... Parameters, class... Arguments>
  void call(const std::string& subject, const DriverFunction<Parameters...>& function, Arguments... arguments) const {
    check(function.call(arguments...), function.name, subject);
  }

 private:
  int cuda_ = 0, n_devices_ = 0;
};

/// Formats a version of CUDA: "13.0".
std::string text_of_cuda(int version);

/// Owns what the driver gave. What it says when it takes that back is ignored: after an error of a device all fails.
template <class Handle>
class Owned {
 public:
  Owned() = default;
  Owned(Handle handle, const DriverFunction<Handle>& give_back) : handle_(handle), give_back_(give_back.call) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, {})), give_back_(other.give_back_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(give_back_, other.give_back_);
    return *this;
  }
  ~Owned() {
    if (handle_) give_back_(*handle_);
  }

  Handle get() const { return handle_.value_or(Handle{}); }

 private:
  std::optional<Handle> handle_;
  abi::Result (*give_back_)(Handle) = nullptr;
};

}  // namespace tessera::device
