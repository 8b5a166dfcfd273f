// Runs kernels of a device: there, or for tests on a host, warp after warp. Include target.h first.
//
// A kernel is written as phases between barriers of a block. It says what a block shares and how many blocks a
// multiprocessor should have room for, which limits registers; Run() does what a warp has to do in a phase:
//
//   struct Kernel {
//     static constexpr int n_phases, warps_of_block, blocks_at_once;
//     struct Shared;
//     struct Arguments;
//     template <int phase>
//     static void Run(const Arguments&, Shared&, const Place&);
//   };
//
// A kernel whose phases are told by its arguments has in place of n_phases and that:
//
//     static int Phases(const Arguments&);
//     static void Run(const Arguments&, Shared&, const Place&, int phase);
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace N_LANE {

/// Tells a warp which one it is.
struct Place {
  int block, warp, blocks, warps;

  /// Returns its number among the warps of all blocks.
  HWY_INLINE int OfAll() const { return block * warps + warp; }
};

template <class Kernel>
concept HasChosenPhases = requires(const typename Kernel::Arguments& arguments) {
  Kernel::Phases(arguments);
};

/// Calls a function with places below n, a share of which each warp of a block has, and a mask of those that are.
template <class Function>
HWY_INLINE void ForShare(const Place& place, std::int32_t n, Function function) {
  for (std::int32_t first = place.warp * hn::warp_size; first < n; first += place.warps * hn::warp_size) {
    const Numbers at = hn::Add(LaneNumbers(), Integer(first));
    function(hn::Min(at, Integer(n - 1)), hn::Lt(at, Integer(n)));
  }
}

/// Calls a function with the places below n that a warp has among those of all blocks, one to a lane, and a mask of those
/// that are, unless there is none.
template <class Function>
HWY_INLINE void ForLanesOfAll(const Place& place, std::int32_t n, Function function) {
  const std::int32_t first = place.OfAll() * hn::warp_size;
  if (first >= n) return;
  const Numbers at = hn::Add(LaneNumbers(), Integer(first));
  function(hn::Min(at, Integer(n - 1)), hn::Lt(at, Integer(n)));
}

#ifdef __CUDACC__
template <class Kernel, int phase>
__device__ __forceinline__ void RunPhase(const typename Kernel::Arguments& arguments, typename Kernel::Shared& shared,
                                         const Place& place) {
  if constexpr (phase > 0) __syncthreads();
  Kernel::template Run<phase>(arguments, shared, place);
}
/// Runs a kernel, as all that a `__global__` function does.
template <class Kernel>
__device__ __forceinline__ void RunOnDevice(const typename Kernel::Arguments& arguments) {
  __shared__ typename Kernel::Shared shared;
  const Place place{static_cast<int>(blockIdx.x), static_cast<int>(threadIdx.x) / hn::warp_size,
                    static_cast<int>(gridDim.x), static_cast<int>(blockDim.x) / hn::warp_size};
  if constexpr (HasChosenPhases<Kernel>) {
    for (int phase = 0; phase < Kernel::Phases(arguments); ++phase) {
      if (phase > 0) __syncthreads();
      Kernel::Run(arguments, shared, place, phase);
    }
  } else {
    [&]<int... phases>(std::integer_sequence<int, phases...>) {
      (RunPhase<Kernel, phases>(arguments, shared, place), ...);
    }
    (std::make_integer_sequence<int, Kernel::n_phases>());
  }
}

/// Defines a function of a device that runs a kernel, the type after its name.
#define TESSERA_KERNEL(name, ...)                                                          \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::warps_of_block* hn::warp_size, \
                                               __VA_ARGS__::blocks_at_once)                \
      name(const __grid_constant__ typename __VA_ARGS__::Arguments arguments) {            \
    simd::RunOnDevice<__VA_ARGS__>(arguments);                                             \
  }
#else
/// Runs a kernel in so many blocks. The seed decides in which order blocks, and in each phase their warps, have their
/// turns: what depends on the order of atomic operations differs from seed to seed.
template <class Kernel>
void RunOnHost(const typename Kernel::Arguments& arguments, int blocks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto any_order = [&](int n) {
    std::vector<int> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return order;
  };
  for (const int block : any_order(blocks)) {
    const auto shared = std::make_unique<typename Kernel::Shared>();
    const auto for_warps = [&](const auto& function) HWY_ATTR {
      for (const int warp : any_order(Kernel::warps_of_block))
        function(Place{block, warp, blocks, Kernel::warps_of_block});
    };
    if constexpr (HasChosenPhases<Kernel>) {
      for (int phase = 0; phase < Kernel::Phases(arguments); ++phase)
        for_warps([&](const Place& place) HWY_ATTR { Kernel::Run(arguments, *shared, place, phase); });
    } else {
      const auto run = [&]<int phase>(std::integral_constant<int, phase>) HWY_ATTR {
        for_warps([&](const Place& place) HWY_ATTR { Kernel::template Run<phase>(arguments, *shared, place); });
      };
      [&]<int... phases>(std::integer_sequence<int, phases...>) HWY_ATTR {
        (run(std::integral_constant<int, phases>()), ...);
      }
      (std::make_integer_sequence<int, Kernel::n_phases>());
    }
  }
}

/// Runs a kernel as the driver of tests starts it.
template <class Kernel>
void RunAsFake(const void* arguments, int blocks, std::uint64_t seed) {
  RunOnHost<Kernel>(*static_cast<const typename Kernel::Arguments*>(arguments), blocks, seed);
}
#endif

}  // namespace N_LANE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();
