// Moves atoms on a device: a warp has 32 constraint groups of one kind. Bodies are those of processors. Kinds whose shape
// the compiler knows have a kernel, all others another, which keeps values in memory.
#include "tessera/md/integrate/device/lanes-inl.h"
//
#include "tessera/md/integrate/constraint_forces.h"
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
    const auto run = [&]<int N, int A>() HWY_ATTR {
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

template <bool with_virial>
struct KickAndProjectOnDevice {
  static constexpr int blocks_at_once = with_virial ? 3 : 4;
  using Arguments = MotionArguments;
  template <int N, int A>
  static HWY_INLINE void Move(const Arguments& a, const GroupsOnDevice& list, std::size_t begin, std::size_t end) {
    const auto add_virial = [&]([[maybe_unused]] const auto& impulses, [[maybe_unused]] int n,
                                [[maybe_unused]] const Mask& count) HWY_ATTR {
      if constexpr (with_virial) AddVirialOfImpulses(impulses, n, count, a.step, a.virials->of_constraints);
    };
    KickAndProjectKind<N, A>(list, begin, end, a.step, a.sums->n_failed, add_virial);
  }
};

/// Corrects positions of groups whose shape the compiler knows, or of any.
template <int N, int A>
struct CorrectKind {
  template <std::size_t most>
  constexpr bool operator()(const constraint::GroupKind& kind, const std::array<Vec3, most>& before,
                            std::array<Vec3, most>& after, double tolerance) const {
    constexpr int n_constraints = N < 0 ? 0 : N;  // 0: any number
    const auto n = at(kind.group.n_atoms);
    if constexpr (is_water<N, A>)
      return constraint::settle_positions(*kind.settle, before, after);
    else
      return constraint::shake<n_constraints>(kind.group, std::span(before).first(n), std::span(after).first(n),
                                              tolerance);
  }
};

/// Sums the virial of constraint forces in a state. A lane does for its group what a processor does.
struct AddConstraintVirialOnDevice {
  static constexpr int blocks_at_once = 2;
  using Arguments = MotionArguments;
  template <int N, int A>
  static HWY_INLINE void Move(const Arguments& a, const GroupsOnDevice& list, std::size_t begin, std::size_t end) {
    if constexpr (N != 0)
      ForBatches(list, begin, end, a.step, [&](const auto& groups, const Mask& count) HWY_ATTR {
        constexpr auto most = static_cast<std::size_t>(A);
        const std::int32_t n = list.kind.group.n_atoms;
        V parts[most][6];
        const auto failed = simd::ForEachLane(
            [&](std::int32_t group, double(&part)[6 * most]) {
              const auto found = constraint_forces<most>(list.kind, groups.slots + std::ptrdiff_t{group} * n, a.step,
                                                         CorrectKind<N, A>());
              for (std::size_t k = 0; k < most; ++k) {
                const Vec3 &r = found.place[k], &f = found.force[k];
                const double of_atom[6] = {r.x * f.x, r.y * f.y, r.z * f.z, r.x * f.y, r.x * f.z, r.y * f.z};
                for (std::size_t c = 0; c < 6; ++c) part[6 * k + c] = of_atom[c];
              }
              return found.is_found ? 0 : 1;
            },
            groups.group, reinterpret_cast<V(&)[6 * most]>(parts));
        for (std::int32_t k = 0; k < n; ++k) AddVirial(a.virials->of_constraints, parts[k], count);
        simd::AtomicAdd(failed, &a.sums->n_failed, Integer(0), count);
      });
  }
};

struct AddVirialWithinOnDevice {
  static constexpr int blocks_at_once = 4;
  using Arguments = MotionArguments;
  template <int N, int A>
  static HWY_INLINE void Move(const Arguments& a, const GroupsOnDevice& list, std::size_t begin, std::size_t end) {
    AddVirialWithinKind<N, A>(list, begin, end, a.step, a.virials->within);
  }
};

/// Moves groups as a whole where the box has changed.
struct FollowBoxOnDevice {
  static constexpr int blocks_at_once = 4;
  using Arguments = BoxArguments;
  template <int N, int A>
  static HWY_INLINE void Move(const Arguments& a, const GroupsOnDevice& list, std::size_t begin, std::size_t end) {
    if constexpr (A > 1)
      ForBatches(list, begin, end, a.step, [&](const auto& groups, const Mask& count) HWY_ATTR {
        const Batch<A> batch(a.step, list.kind.group, groups, count, list.kind.group.n_atoms);
        batch.keep_distances(a.from, a.to);
      });
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
