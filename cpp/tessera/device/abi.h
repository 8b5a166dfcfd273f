// What of the driver's binary interface is used here, as NVIDIA documents it (CUDA Driver API): types, numbers and
// functions. A name that ends in _v2 is that of the library's symbol; the documentation leaves the end away.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::device::abi {

using Device = int;
using Address = std::uint64_t;  // of a device's memory
using Context = struct OfContext*;
using Module = struct OfModule*;
using Function = struct OfFunction*;
using Stream = struct OfStream*;
using Event = struct OfEvent*;

enum Result : int { success = 0, out_of_memory = 2, no_device = 100, no_code_for_device = 209, not_found = 500 };
enum Attribute : int { multiprocessors = 16, capability_major = 75, capability_minor = 76 };
constexpr unsigned not_behind_default_stream = 1;  // of cuStreamCreate

}  // namespace tessera::device::abi

// FUNCTION(name, types of parameters…)
#define TESSERA_DRIVER_FUNCTIONS(FUNCTION)                                                                      \
  FUNCTION(cuDriverGetVersion, int*)                                                                            \
  FUNCTION(cuInit, unsigned)                                                                                    \
  FUNCTION(cuGetErrorName, abi::Result, const char**)                                                           \
  FUNCTION(cuGetErrorString, abi::Result, const char**)                                                         \
  FUNCTION(cuDeviceGetCount, int*)                                                                              \
  FUNCTION(cuDeviceGet, abi::Device*, int)                                                                      \
  FUNCTION(cuDeviceGetName, char*, int, abi::Device)                                                            \
  FUNCTION(cuDeviceGetAttribute, int*, abi::Attribute, abi::Device)                                             \
  FUNCTION(cuDeviceTotalMem_v2, std::size_t*, abi::Device)                                                      \
  FUNCTION(cuDevicePrimaryCtxRetain, abi::Context*, abi::Device)                                                \
  FUNCTION(cuDevicePrimaryCtxRelease_v2, abi::Device)                                                           \
  FUNCTION(cuCtxSetCurrent, abi::Context)                                                                       \
  FUNCTION(cuMemGetInfo_v2, std::size_t*, std::size_t*)                                                         \
  FUNCTION(cuMemAlloc_v2, abi::Address*, std::size_t)                                                           \
  FUNCTION(cuMemFree_v2, abi::Address)                                                                          \
  FUNCTION(cuMemHostAlloc, void**, std::size_t, unsigned)                                                       \
  FUNCTION(cuMemFreeHost, void*)                                                                                \
  FUNCTION(cuMemcpyHtoDAsync_v2, abi::Address, const void*, std::size_t, abi::Stream)                           \
  FUNCTION(cuMemcpyDtoHAsync_v2, void*, abi::Address, std::size_t, abi::Stream)                                 \
  FUNCTION(cuMemsetD8Async, abi::Address, unsigned char, std::size_t, abi::Stream)                              \
  FUNCTION(cuModuleLoad, abi::Module*, const char*)                                                             \
  FUNCTION(cuModuleUnload, abi::Module)                                                                         \
  FUNCTION(cuModuleGetFunction, abi::Function*, abi::Module, const char*)                                       \
  FUNCTION(cuStreamCreate, abi::Stream*, unsigned)                                                              \
  FUNCTION(cuStreamDestroy_v2, abi::Stream)                                                                     \
  FUNCTION(cuStreamSynchronize, abi::Stream)                                                                    \
  FUNCTION(cuEventCreate, abi::Event*, unsigned)                                                                \
  FUNCTION(cuEventDestroy_v2, abi::Event)                                                                       \
  FUNCTION(cuEventRecord, abi::Event, abi::Stream)                                                              \
  FUNCTION(cuEventSynchronize, abi::Event)                                                                      \
  FUNCTION(cuEventElapsedTime_v2, float*, abi::Event, abi::Event)                                               \
  FUNCTION(cuLaunchKernel, abi::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
           abi::Stream, void**, void**)
