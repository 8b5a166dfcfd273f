// Sums and changes the velocities of all atoms, a slot to a lane, with the bits of Motion's functions.
#pragma once

#include "tessera/base/fixed_point.h"
#include "tessera/md/integrate/device/lanes-inl.h"
#include "tessera/md/integrate/device/velocity_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

/// The velocities of slots.
struct VelocitiesOfLanes {
  const VelocityArguments& a;
  const VI slot, index = hn::Mul(slot, Integer(3));
  const Mask exists;

  HWY_INLINE VI component(int d) const { return hn::GatherIndex(DI32(), &a.velocity->x, hn::Add(index, Integer(d))); }
  HWY_INLINE void store(int d, const VI& values, const Mask& changes) const {
    simd::Scatter(values, &a.velocity->x, hn::Add(index, Integer(d)), changes);
  }
  HWY_INLINE V inverse_mass() const { return hn::GatherIndex(D(), a.inverse_mass, slot); }
  HWY_INLINE Mask moves() const { return hn::And(exists, hn::Ne(inverse_mass(), hn::Zero(D()))); }
  HWY_INLINE VI bath() const { return a.bath == nullptr ? Integer(0) : hn::GatherIndex(DI32(), a.bath, slot); }
};

struct AddKineticEnergies {
  static HWY_INLINE void Run(const VelocitiesOfLanes& v) {
    const V x = hn::PromoteTo(D(), v.component(0)), y = hn::PromoteTo(D(), v.component(1)),
            z = hn::PromoteTo(D(), v.component(2));
    const double scale = v.a.share * 0.5 * velocity_unit * velocity_unit / units::acceleration;
    const V energy = set(scale) * (x * x + y * y + z * z) / v.inverse_mass();
    const VL fixed = simd::ToIntegers(energy * set(1 / energy_unit));
    const Mask first = simd::IsFirstLane(), moves = v.moves();
    const VI bath = v.bath();
    for (std::int32_t b = 0; b < v.a.n_baths; ++b) {
      const Mask counts = hn::And(moves, hn::Eq(bath, Integer(b)));
      simd::AtomicAdd(simd::SumOfWarp(hn::IfThenElseZero(counts, fixed)), v.a.sums->kinetic, Integer(b), first);
    }
  }
};

struct AddMomentum {
  static HWY_INLINE void Run(const VelocitiesOfLanes& v) {
    const Mask first = simd::IsFirstLane(), moves = v.moves();
    const V mass = set(velocity_unit) / v.inverse_mass();
    for (int d = 0; d < 3; ++d) {
      const V momentum = mass * hn::PromoteTo(D(), v.component(d));
      const VL fixed = simd::ToIntegers(momentum * set(1 / momentum_unit));
      simd::AtomicAdd(simd::SumOfWarp(hn::IfThenElseZero(moves, fixed)), v.a.sums->momentum, Integer(d), first);
    }
  }
};

struct ScaleVelocities {
  static HWY_INLINE void Run(const VelocitiesOfLanes& v) {
    constexpr double most = 2147483647;
    const V factor = hn::GatherIndex(D(), v.a.factor, v.bath());
    for (int d = 0; d < 3; ++d) {
      const V scaled = factor * (hn::PromoteTo(D(), v.component(d)) * set(velocity_unit)) * set(1 / velocity_unit);
      const V limited = hn::Max(hn::Min(scaled, set(most)), set(-most));
      v.store(d, hn::DemoteTo(DI32(), simd::Round(limited)), v.exists);
    }
  }
};

struct ShiftVelocities {
  static HWY_INLINE void Run(const VelocitiesOfLanes& v) {
    const Mask moves = v.moves();
    const std::int32_t shift[3] = {v.a.shift.x, v.a.shift.y, v.a.shift.z};
    HWY_UNROLL(3)
    for (int d = 0; d < 3; ++d) v.store(d, hn::Sub(v.component(d), Integer(shift[d])), moves);
  }
};

template <class Use>
struct VelocityKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = VelocityArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n_slots, [&](const VI& slot, const Mask& exists) HWY_ATTR {
      Use::Run(VelocitiesOfLanes{.a = a, .slot = slot, .exists = exists});
    });
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
