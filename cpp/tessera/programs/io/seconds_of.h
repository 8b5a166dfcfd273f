// The time that ranks take together.
#pragma once

#include <chrono>

#include "tessera/comm/communicator.h"

namespace tessera::programs {

/// Measures the time that work takes until the last rank has done it. Collective.
template <class Work>
double seconds_of(const comm::Communicator& comm, Work&& work) {
  comm.barrier();
  const auto start = std::chrono::steady_clock::now();
  work();
  comm.barrier();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace tessera::programs
