#include "tessera/device/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "tessera/base/error.h"

namespace tessera::device {

namespace {

constexpr const char* mend = "install version 580 or later, or run on the CPU";

template <class... Parameters>
void find(DriverFunction<Parameters...>& function, void* library, const std::string& name) {
  function.call = reinterpret_cast<abi::Result (*)(Parameters...)>(dlsym(library, function.name));
  if (!function.call)
    throw RunError(
        fmt::format("{} has no {}, so that it is no driver that Tessera can use; {}", name, function.name, mend));
}

}  // namespace

Driver::Driver(const std::string& library) {
  // It stays open, as the driver's threads may go on until the program ends.
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) throw RunError(fmt::format("there is no NVIDIA driver here ({}); {}", dlerror(), mend));
  find(cuDriverGetVersion, opened, library);
  const abi::Result known = cuDriverGetVersion.call(&cuda_);
  if (known == abi::success && cuda_ < least_cuda)
    throw RunError(fmt::format("the NVIDIA driver is too old: it has CUDA {}, Tessera needs {}; {}",
                               text_of_cuda(cuda_), text_of_cuda(least_cuda), mend));
#define TESSERA_FUNCTION(name, ...) find(name, opened, library);
  TESSERA_DRIVER_FUNCTIONS(TESSERA_FUNCTION)
#undef TESSERA_FUNCTION
  const std::string subject = "the NVIDIA driver";
  check(known, cuDriverGetVersion.name, subject);
  const abi::Result started = cuInit.call(0);
  if (started != abi::no_device) {
    check(started, cuInit.name, subject);
    call(subject, cuDeviceGetCount, &n_devices_);
  }
  if (n_devices_ < 1)
    throw RunError("the NVIDIA driver finds no GPU; make one visible (CUDA_VISIBLE_DEVICES), or run on the CPU");
}

void Driver::check(abi::Result result, const char* function, const std::string& subject) const {
  if (result == abi::success) return;
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName.call(result, &name) != abi::success || !name) name = "an unknown error";
  if (cuGetErrorString.call(result, &text) != abi::success || !text) text = "the driver has no text for it";
  throw RunError(
      fmt::format("{}: {} failed with {} ({}): {}", subject, function, name, static_cast<int>(result), text));
}

std::string text_of_cuda(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace tessera::device
