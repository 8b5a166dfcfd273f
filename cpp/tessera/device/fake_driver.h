// What tests may ask of the library that answers as NVIDIA's driver does (fake_driver.cpp).
#pragma once

#include <cstdint>

namespace tessera::device::fake {

/// Runs a kernel on the host, in so many blocks. The seed decides in which order warps have their turns.
using HostKernel = void(const void* arguments, int blocks, std::uint64_t seed);

/// Gives the library a kernel more.
struct Registered {
  Registered(const char* name, HostKernel* kernel);
};

/// Arguments of its one kernel, "tessera_double", which doubles n values.
struct DoubleArguments {
  std::int32_t* values;
  std::int32_t n;
};

using FakeText = const char*();  // fake_driver_calls: names of the functions that were called, each before a space
using FakeNumber = int();        // fake_driver_held: how much was given and not taken back
using FakeAction = void();       // fake_driver_reset: forgets the calls

}  // namespace tessera::device::fake
