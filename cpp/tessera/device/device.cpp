#include "tessera/device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tessera/base/error.h"

namespace tessera::device {

DeviceFacts facts_of_device(const Driver& driver, int number) {
  const std::string subject = fmt::format("GPU {}", number);
  const auto call = [&](const auto& function, auto... arguments) { driver.call(subject, function, arguments...); };
  abi::Device device = 0;
  call(driver.cuDeviceGet, &device, number);
  std::array<char, 256> name{};
  call(driver.cuDeviceGetName, name.data(), static_cast<int>(name.size()) - 1, device);
  std::size_t bytes = 0;
  call(driver.cuDeviceTotalMem_v2, &bytes, device);
  const auto attribute = [&](abi::Attribute which) {
    int value = 0;
    call(driver.cuDeviceGetAttribute, &value, which, device);
    return value;
  };
  return {name.data(), attribute(abi::capability_major), attribute(abi::capability_minor),
          attribute(abi::multiprocessors), static_cast<std::int64_t>(bytes)};
}

Device::Device(const Driver& driver, int number)
    : driver_(driver), facts_(facts_of_device(driver, number)), subject_("the GPU " + facts_.name) {
  abi::Device device = 0;
  call(driver.cuDeviceGet, &device, number);
  call(driver.cuDevicePrimaryCtxRetain, &context_, device);
  primary_ = {device, driver.cuDevicePrimaryCtxRelease_v2};
  make_current();
}

std::int64_t Device::free_bytes() const {
  std::size_t free = 0, all = 0;
  call(driver_.cuMemGetInfo_v2, &free, &all);
  return static_cast<std::int64_t>(free);
}

Stream::Stream(const Device& device) : device_(device) {
  abi::Stream stream = nullptr;
  device.call(device.driver().cuStreamCreate, &stream, abi::not_behind_default_stream);
  handle_ = {stream, device.driver().cuStreamDestroy_v2};
}

Event::Event(const Device& device) : device_(device) {
  abi::Event event = nullptr;
  device.call(device.driver().cuEventCreate, &event, 0U);
  handle_ = {event, device.driver().cuEventDestroy_v2};
}

double Event::seconds_since(const Event& begin) const {
  float milliseconds = 0;
  device_.call(device_.driver().cuEventElapsedTime_v2, &milliseconds, begin.handle_.get(), handle_.get());
  return 1e-3 * static_cast<double>(milliseconds);
}

void Stream::end() const noexcept {
  try {
    device_.make_current();
    wait();
  } catch (const RunError&) {
  }
}

Memory::Memory(const Device& device, std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  abi::Address address = 0;
  const abi::Result result = device.driver().cuMemAlloc_v2.call(&address, bytes);
  if (result == abi::out_of_memory)
    throw RunError(
        fmt::format("{} has too little memory: {:.3f} GB are needed at once, {:.3f} of {:.3f} GB are free; take "
                    "a larger one, or run on the CPU",
                    device.subject(), 1e-9 * static_cast<double>(bytes),
                    1e-9 * static_cast<double>(device.free_bytes()), 1e-9 * static_cast<double>(device.facts().bytes)));
  device.driver().check(result, device.driver().cuMemAlloc_v2.name, device.subject());
  handle_ = {address, device.driver().cuMemFree_v2};
}

HostMemory::HostMemory(const Device& device, std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* memory = nullptr;
  device.call(device.driver().cuMemHostAlloc, &memory, bytes, 0U);
  handle_ = {memory, device.driver().cuMemFreeHost};
}

void Memory::start_copy_from(const void* host, std::size_t bytes, const Stream& stream, std::size_t first) const {
  TESSERA_CHECK(first + bytes <= bytes_);
  const Device& device = stream.device();
  if (bytes > 0) device.call(device.driver().cuMemcpyHtoDAsync_v2, address() + first, host, bytes, stream.get());
}

void Memory::start_copy_to(void* host, std::size_t bytes, const Stream& stream) const {
  TESSERA_CHECK(bytes <= bytes_);
  const Device& device = stream.device();
  if (bytes > 0) device.call(device.driver().cuMemcpyDtoHAsync_v2, host, address(), bytes, stream.get());
}

void Memory::start_clear(const Stream& stream) const {
  const Device& device = stream.device();
  if (bytes_ > 0)
    device.call(device.driver().cuMemsetD8Async, address(), static_cast<unsigned char>(0), bytes_, stream.get());
}

void Kernel::start_with(const void* arguments, const Stream& stream, unsigned blocks, unsigned threads_of_block) const {
  const Device& device = stream.device();
  void* parameters[] = {const_cast<void*>(arguments)};
  device.call(device.driver().cuLaunchKernel, function_, blocks, 1U, 1U, threads_of_block, 1U, 1U, 0U, stream.get(),
              static_cast<void**>(parameters), static_cast<void**>(nullptr));
}

Kernels::Kernels(const Device& device, const std::filesystem::path& folder) : device_(device), folder_(folder) {
  const auto files = fat_binaries(folder);
  if (files.empty())
    throw RunError(
        fmt::format("there are no kernels for GPUs in {} (tessera-*.fatbin): Tessera was built without them; "
                    "build it with -DTESSERA_GPU=ON, or run on the CPU",
                    folder.string()));
  for (const auto& file : files) {
    abi::Module module = nullptr;
    const abi::Result result = device.driver().cuModuleLoad.call(&module, file.c_str());
    if (result == abi::no_code_for_device)
      throw RunError(
          fmt::format("{} has compute capability {}, for which {} has no code; take a newer one, or run on the CPU",
                      device.subject(), device.facts().capability(), file.string()));
    device.driver().check(result, device.driver().cuModuleLoad.name,
                          fmt::format("{}, {}", device.subject(), file.string()));
    modules_.emplace_back(module, device.driver().cuModuleUnload);
  }
}

Kernel Kernels::find(const std::string& name) const {
  for (const auto& module : modules_) {
    abi::Function function = nullptr;
    const auto& find_in = device_.driver().cuModuleGetFunction;
    const abi::Result result = find_in.call(&function, module.get(), name.c_str());
    if (result == abi::success) return Kernel(function);
    if (result != abi::not_found) device_.driver().check(result, find_in.name, device_.subject());
  }
  throw RunError(
      fmt::format("there is no kernel {} in {}: they are of another version than this program; install Tessera anew",
                  name, folder_.string()));
}

std::vector<std::filesystem::path> fat_binaries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("tessera-") && name.ends_with(".fatbin")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::filesystem::path folder_of_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace tessera::device
