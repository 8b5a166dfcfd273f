// Moves atoms on a device: a warp has 32 constraint groups of one kind. Bodies are those of processors. Kinds whose shape
// the compiler knows have a kernel, all others another, which keeps values in memory.
#include "tessera/md/integrate/device/lanes-inl.h"
//
#include "tessera/md/integrate/half_step-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

/// Finds the groups of a warp, and moves them as `Half` says. `of_any_shape`: the kernel of kinds of other shapes.
template <class Half, bool of_any_shape>
struct MotionKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = of_any_shape ? 1 : Half::blocks_at_once;
  using Arguments = typename Half::Arguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    const std::int32_t warp = place.OfAll();
    std::int32_t first = 0, last = a.n_lists - 1;  // the list is between
    while (first < last) {
      const std::int32_t middle = (first + last + 1) / 2;
      if (a.lists[middle].first_warp <= warp)
        first = middle;
      else
        last = middle - 1;
    }
    const GroupsOnDevice& list = a.lists[first];
    const std::int32_t begin = (warp - list.first_warp) * hn::warp_size;
    if (begin >= list.n) return;
    const auto run = [&]<int N, int A> HWY_ATTR {
      if constexpr ((N < 0) == of_any_shape)
        Half::template Move<N, A>(a, list, static_cast<std::size_t>(begin), static_cast<std::size_t>(list.n));
    };
    WithShape(list, run);
  }
};

struct KickAndDriftOnDevice {
  static constexpr int blocks_at_once = 3;
  using Arguments = MotionArguments;
  template <int N, int A>
  static HWY_INLINE void Move(const Arguments& a, const GroupsOnDevice& list, std::size_t begin, std::size_t end) {
    KickAndDriftKind<N, A>(list, begin, end, a.step, a.sums->n_failed);
  }
};

struct KickAndDriftWithNoiseOnDevice {
  static constexpr int blocks_at_once = 2;
  using Arguments = NoisyMotionArguments;
  template <int N, int A>
  static HWY_INLINE void Move(const Arguments& a, const GroupsOnDevice& list, std::size_t begin, std::size_t end) {
    KickAndDriftWithNoiseKind<N, A>(list, begin, end, a.step, a.noise, a.sums->heat, a.sums->n_failed);
  }
};

struct KickAndProjectOnDevice {
  static constexpr int blocks_at_once = 4;
  using Arguments = MotionArguments;
  template <int N, int A>
  static HWY_INLINE void Move(const Arguments& a, const GroupsOnDevice& list, std::size_t begin, std::size_t end) {
    KickAndProjectKind<N, A>(list, begin, end, a.step, a.sums->n_failed, [](const auto&...) HWY_ATTR {});
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
