// Compiles what follows for lanes of a device, under Highway's names: on a device a value is one number of a thread, on a
// host it is the 32 numbers of a warp. Every kernel of a device therefore runs on a host too, with the same bits.
//
// A source includes this first and kernels (`*-inl.h`) next, once: there is no dispatch. What Highway defines for a target
// stands here; operations are in operations.h and, where a lane needs others, in warp.h.
#pragma once

#ifdef HWY_TARGET
#error "Highway has been included; a source is for its instruction sets or for lanes of a device"
#endif
#define TESSERA_LANE 1

// Targets are compared by these numbers; that of lanes is none of the others.
#define HWY_AVX3 1
#define HWY_AVX2 2
#define HWY_TARGET 3
#define HWY_EMU128 4
#define HWY_ARCH_X86 0
#define HWY_NATIVE_FMA 1
#define HWY_NAMESPACE N_LANE
#define HWY_ALIGN
#define HWY_UNLIKELY(condition) (condition)
#define HWY_PRAGMA(words) _Pragma(#words)

#if defined(__CUDACC__)
#define HWY_INLINE __host__ __device__ __forceinline__
#define HWY_NOINLINE __host__ __device__ __noinline__
#define HWY_UNROLL(times) HWY_PRAGMA(unroll)
#else
#define HWY_INLINE inline __attribute__((always_inline))
#define HWY_NOINLINE __attribute__((noinline))
#define HWY_UNROLL(times) HWY_PRAGMA(GCC unroll times)
#endif

// Stands before operations. On a host each is a function of its own: compilers would take minutes for a kernel of values
// that are four registers or more each.
#ifdef __CUDACC__
#define TESSERA_OPERATION HWY_INLINE
#else
#define TESSERA_OPERATION inline HWY_NOINLINE
#endif

// A host computes with registers of AVX2 where the source asks for them, as Highway does: only functions between these
// two words use them.
#if defined(__x86_64__) && !defined(__CUDACC__)
#define TESSERA_LANE_SET "avx2,fma"
#define HWY_ATTR __attribute__((target(TESSERA_LANE_SET)))
#ifdef __clang__
#define HWY_BEFORE_NAMESPACE()                                                                     \
  HWY_PRAGMA(clang attribute push(__attribute__((target(TESSERA_LANE_SET))), apply_to = function)) \
  static_assert(true, "a semicolon follows")
#define HWY_AFTER_NAMESPACE()     \
  HWY_PRAGMA(clang attribute pop) \
  static_assert(true, "a semicolon follows")
#else
#define HWY_BEFORE_NAMESPACE()      \
  HWY_PRAGMA(GCC push_options)      \
  HWY_PRAGMA(GCC target "avx2,fma") \
  static_assert(true, "a semicolon follows")
#define HWY_AFTER_NAMESPACE() \
  HWY_PRAGMA(GCC pop_options) \
  static_assert(true, "a semicolon follows")
#endif
#else
#define HWY_ATTR
#define HWY_BEFORE_NAMESPACE() static_assert(true, "a semicolon follows")
#define HWY_AFTER_NAMESPACE() static_assert(true, "a semicolon follows")
#endif

#include "tessera/base/simd/lane/operations.h"
#include "tessera/base/simd/lane/warp.h"
