// Tells whether a host can compute lanes of a device.
#pragma once

namespace tessera::simd {

/// Returns whether this processor has the registers that target.h uses.
inline bool has_host_lanes() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

}  // namespace tessera::simd
