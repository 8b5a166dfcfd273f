// A library that answers as NVIDIA's driver does, for tests on machines without one. Its device is the host's memory, and
// work is done when it is begun. TESSERA_FAKE_DRIVER, which is read at every call, says what it has and what fails:
// "cuda=12080 devices=2 capability=70 memory=1000 cuInit=999 fail_call=17 seed=2", where a function's name is followed by
// the error that it returns, fail_call is the number of the call that fails, and seed decides in which order warps of
// kernels (fake_kernels.cpp) have their turns.
#include "tessera/device/fake_driver.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>

#include "tessera/device/abi.h"

using namespace tessera::device;

namespace {

std::string calls;
int n_calls = 0, n_held = 0;
std::map<abi::Address, std::size_t> bytes_at;  // what is allocated, by malloc(), so that the address sanitizer sees it
abi::Context primary = nullptr;
int primary_uses = 0;
/// By thread. A thread_local of a library that is opened later would end the leak sanitizer.
std::map<std::thread::id, abi::Context> current;

long setting(const std::string& name, long otherwise) {
  const char* all = std::getenv("TESSERA_FAKE_DRIVER");
  const std::string text = std::string(" ") + (all ? all : "");
  const auto at = text.find(" " + name + "=");
  return at == std::string::npos ? otherwise : std::atol(text.c_str() + at + name.size() + 2);
}
std::size_t all_bytes() { return static_cast<std::size_t>(setting("memory", 1'000'000'000)); }
std::size_t free_bytes() {
  std::size_t used = 0;
  for (const auto& [address, bytes] : bytes_at) used += bytes;
  return all_bytes() - used;
}

/// Tells whether a function needs the context of a device on its thread.
bool needs_context(std::string_view name) {
  constexpr auto prefixes = std::to_array<std::string_view>({"cuMem", "cuModule", "cuStream", "cuEvent", "cuLaunch"});
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Notes a call, does what it does unless it is to fail, and returns what it has to return.
template <class Action>
abi::Result answer(const char* name, const Action& action) {
  calls += std::string(name) + " ";
  constexpr int invalid_context = 201;
  if (!current[std::this_thread::get_id()] && needs_context(name)) return static_cast<abi::Result>(invalid_context);
  const long failure = ++n_calls == setting("fail_call", 0) ? 999 : setting(name, abi::success);
  if (failure != abi::success) return static_cast<abi::Result>(failure);
  if constexpr (std::is_void_v<decltype(action())>) {
    action();
    return abi::success;
  } else {
    return static_cast<abi::Result>(action());
  }
}

/// Gives a handle, which is the address of an object.
template <class Handle>
void give(Handle* handle) {
  *handle = reinterpret_cast<Handle>(new char);
  ++n_held;
}

/// Returns the answer of a function that takes back what was given, which it does also when it fails.
template <class Handle>
abi::Result take_back(const char* name, Handle handle) {
  delete reinterpret_cast<char*>(handle);
  --n_held;
  return answer(name, [] {});
}

template <class Text>
abi::Result text_of_error(abi::Result error, const char** found, const Text& text) {
  *found = error == 719 ? text[0] : error == 999 ? text[1] : nullptr;
  return *found ? abi::success : static_cast<abi::Result>(1);
}

std::map<std::string, fake::HostKernel*, std::less<>>& kernels() {
  static std::map<std::string, fake::HostKernel*, std::less<>> all;
  return all;
}

void double_values(const void* arguments, int, std::uint64_t) {
  const auto& a = *static_cast<const fake::DoubleArguments*>(arguments);
  for (std::int32_t k = 0; k < a.n; ++k) a.values[k] *= 2;
}

char* host(abi::Address address) { return std::bit_cast<char*>(address); }

}  // namespace

fake::Registered::Registered(const char* name, HostKernel* kernel) { kernels()[name] = kernel; }
static const fake::Registered doubling("tessera_double", double_values);

extern "C" {

#define TESSERA_FUNCTION(name, ...) abi::Result name(__VA_ARGS__);
TESSERA_DRIVER_FUNCTIONS(TESSERA_FUNCTION)
#undef TESSERA_FUNCTION

const char* fake_driver_calls() { return calls.c_str(); }
int fake_driver_held() { return n_held; }
void fake_driver_reset() {
  n_calls = 0;
  calls.clear();
}

abi::Result cuDriverGetVersion(int* version) {
  return answer(__func__, [&] { *version = static_cast<int>(setting("cuda", 13000)); });
}
abi::Result cuInit(unsigned) {
  return answer(__func__, [] {});
}
abi::Result cuGetErrorName(abi::Result error, const char** name) {
  return text_of_error(error, name, std::to_array({"CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_UNKNOWN"}));
}
abi::Result cuGetErrorString(abi::Result error, const char** text) {
  return text_of_error(error, text, std::to_array({"unspecified launch failure", "unknown error"}));
}
abi::Result cuDeviceGetCount(int* count) {
  return answer(__func__, [&] { *count = static_cast<int>(setting("devices", 1)); });
}
abi::Result cuDeviceGet(abi::Device* device, int number) {
  return answer(__func__, [&] { *device = number; });
}
abi::Result cuDeviceGetName(char* name, int length, abi::Device device) {
  return answer(__func__, [&] { std::snprintf(name, static_cast<std::size_t>(length), "Fake %d", device); });
}
abi::Result cuDeviceGetAttribute(int* value, abi::Attribute attribute, abi::Device) {
  return answer(__func__, [&] {
    const auto capability = static_cast<int>(setting("capability", 90));
    *value = attribute == abi::multiprocessors    ? 132
             : attribute == abi::capability_major ? capability / 10
                                                  : capability % 10;
  });
}
abi::Result cuDeviceTotalMem_v2(std::size_t* bytes, abi::Device) {
  return answer(__func__, [&] { *bytes = all_bytes(); });
}
abi::Result cuDevicePrimaryCtxRetain(abi::Context* context, abi::Device) {
  return answer(__func__, [&] {
    if (primary_uses++ == 0) give(&primary);
    *context = primary;
  });
}
abi::Result cuDevicePrimaryCtxRelease_v2(abi::Device) {
  return --primary_uses == 0 ? take_back(__func__, primary) : answer(__func__, [] {});
}
abi::Result cuCtxSetCurrent(abi::Context context) {
  return answer(__func__, [&] { current[std::this_thread::get_id()] = context; });
}
abi::Result cuMemGetInfo_v2(std::size_t* free, std::size_t* all) {
  return answer(__func__, [&] { *all = all_bytes(), *free = free_bytes(); });
}
abi::Result cuMemAlloc_v2(abi::Address* address, std::size_t bytes) {
  return answer(__func__, [&] {
    if (bytes > free_bytes()) return abi::out_of_memory;
    *address = reinterpret_cast<abi::Address>(std::malloc(bytes));
    bytes_at[*address] = bytes;
    ++n_held;
    return abi::success;
  });
}
abi::Result cuMemFree_v2(abi::Address address) {
  bytes_at.erase(address);
  std::free(host(address));
  --n_held;
  return answer(__func__, [] {});
}
abi::Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return answer(__func__, [&] {
    *memory = std::malloc(bytes);
    ++n_held;
  });
}
abi::Result cuMemFreeHost(void* memory) {
  std::free(memory);
  --n_held;
  return answer(__func__, [] {});
}
abi::Result cuMemcpyHtoDAsync_v2(abi::Address to, const void* from, std::size_t bytes, abi::Stream) {
  return answer(__func__, [&] { std::memcpy(host(to), from, bytes); });
}
abi::Result cuMemcpyDtoHAsync_v2(void* to, abi::Address from, std::size_t bytes, abi::Stream) {
  return answer(__func__, [&] { std::memcpy(to, host(from), bytes); });
}
abi::Result cuMemsetD8Async(abi::Address to, unsigned char value, std::size_t bytes, abi::Stream) {
  return answer(__func__, [&] { std::memset(host(to), value, bytes); });
}
// Reads a fat binary, which is a text here: the least capability for which it has code.
abi::Result cuModuleLoad(abi::Module* module, const char* path) {
  return answer(__func__, [&]() -> int {
    long least = 0;
    if (!(std::ifstream(path) >> least)) return 200;
    if (setting("capability", 90) < least) return abi::no_code_for_device;
    give(module);
    return abi::success;
  });
}
abi::Result cuModuleUnload(abi::Module module) { return take_back(__func__, module); }
abi::Result cuModuleGetFunction(abi::Function* function, abi::Module, const char* name) {
  return answer(__func__, [&] {
    const auto found = kernels().find(name);
    if (found == kernels().end()) return abi::not_found;
    *function = reinterpret_cast<abi::Function>(found->second);
    return abi::success;
  });
}
abi::Result cuStreamCreate(abi::Stream* stream, unsigned) {
  return answer(__func__, [&] { give(stream); });
}
abi::Result cuStreamDestroy_v2(abi::Stream stream) { return take_back(__func__, stream); }
abi::Result cuStreamSynchronize(abi::Stream) {
  return answer(__func__, [] {});
}
abi::Result cuEventCreate(abi::Event* event, unsigned) {
  return answer(__func__, [&] { give(event); });
}
abi::Result cuEventDestroy_v2(abi::Event event) { return take_back(__func__, event); }
abi::Result cuEventRecord(abi::Event, abi::Stream) {
  return answer(__func__, [] {});
}
abi::Result cuEventSynchronize(abi::Event) {
  return answer(__func__, [] {});
}
abi::Result cuEventElapsedTime_v2(float* milliseconds, abi::Event, abi::Event) {
  return answer(__func__, [&] { *milliseconds = 1.5F; });
}
abi::Result cuLaunchKernel(abi::Function function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, abi::Stream, void** arguments, void**) {
  return answer(__func__, [&] {
    reinterpret_cast<fake::HostKernel*>(function)(arguments[0], static_cast<int>(blocks),
                                                  static_cast<std::uint64_t>(setting("seed", 1)));
  });
}

}  // extern "C"
