// Contains what the half steps call, for lanes of a device: a warp has 32 groups of one kind. It stands in for
// lanes-inl.h, whose names it has.
#pragma once

#include "tessera/base/random.h"
#include "tessera/base/simd/lane/run.h"
#include "tessera/base/units.h"
#include "tessera/md/constraint/lanes-inl.h"
#include "tessera/md/integrate/device/motion_kernel.h"
//
#include "tessera/md/constraint/settle-inl.h"
#include "tessera/md/constraint/shake-inl.h"
#include "tessera/md/integrate/noise-inl.h"
#include "tessera/md/integrate/vectors-inl.h"
#include "tessera/md/lane_sums/device/split-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

using simd::Integer;
using VI = hn::Vec<DI32>;
using VL = hn::Vec<DI64>;

/// Names the group of each lane, in a list of their slots. Lanes beyond the last group repeat it.
struct GroupsOfLanes {
  const std::int32_t* slots;
  VI group;
};

/// Calls work(groups, which count) for the groups of a warp, those from `begin` on that are before `end`.
template <class Work>
HWY_INLINE void ForBatches(const GroupsOnDevice& list, std::size_t begin, std::size_t end, const HalfStep&,
                           Work&& work) {
  const auto last = static_cast<std::int32_t>(end) - 1;
  const VI any = hn::Add(simd::LaneNumbers(), Integer(static_cast<std::int32_t>(begin)));
  work(GroupsOfLanes{list.slots, hn::Min(any, Integer(last))}, hn::Le(any, Integer(last)));
}

/// Loads, changes and stores a group of up to `most` atoms in each lane.
template <int most>
class Batch {
 public:
  HWY_INLINE Batch(const HalfStep& step, const constraint::ConstraintGroup& group, const GroupsOfLanes& groups,
                   const Mask& count, int n_atoms)
      : step_(step), group_(group), count_(count), n_(n_atoms) {
    const VI first = hn::Mul(groups.group, Integer(n_atoms));
    TESSERA_UNROLL
    for (int a = 0; a < n(); ++a) slot_[a] = hn::GatherIndex(DI32(), groups.slots + a, first);
  }

  /// Loads positions relative to the first atom, Å.
  HWY_INLINE void places(Vectors* place) const {
    const V zero = hn::Zero(D());
    place[0] = {zero, zero, zero};
    TESSERA_UNROLL
    for (int a = 1; a < n(); ++a) place[a] = Transform(step_.to_length, {apart(a, 0), apart(a, 1), apart(a, 2)});
  }

  /// Computes velocities (Å/ps) after the forces have acted. Returns the lanes in which all atoms are within the speed
  /// limit.
  HWY_INLINE Mask kick(Vectors* velocity) const {
    Mask is_slow = hn::Eq(hn::Zero(D()), hn::Zero(D()));
    TESSERA_UNROLL
    for (int a = 0; a < n(); ++a) {
      const V w = set(group_.inverse_mass[a] * (units::acceleration * step_.kick * force_unit));
      velocity[a] = {kicked(a, 0, w), kicked(a, 1, w), kicked(a, 2, w)};
      is_slow = hn::And(is_slow, Dot(velocity[a], velocity[a]) < set(speed_limit * speed_limit));
    }
    return is_slow;
  }

  /// Returns the force on one atom of each group, kcal/mol/Å.
  HWY_INLINE Vectors force(int a) const {
    const V unit = set(force_unit);
    return {unit * fixed_force(a, 0), unit * fixed_force(a, 1), unit * fixed_force(a, 2)};
  }

  /// Moves all atoms but the first so that they are as far from it in another box, as Motion::set_box() does: both are
  /// given by their vectors per unit of a fraction. Groups are smaller than half a box.
  HWY_INLINE void keep_distances(const Triangular& from, const Triangular& to) const {
    TESSERA_UNROLL
    for (int a = 1; a < n(); ++a) {
      const V x = apart(a, 0), y = apart(a, 1), z = apart(a, 2);
      const Vectors r = {set(from.xx) * x + set(from.xy) * y + set(from.xz) * z, set(from.yy) * y + set(from.yz) * z,
                         set(from.zz) * z};
      const V w = r.z / set(to.zz), v = (r.y - set(to.yz) * w) / set(to.yy);
      place_at(a, 0, (r.x - set(to.xy) * v - set(to.xz) * w) / set(to.xx));
      place_at(a, 1, v);
      place_at(a, 2, w);
    }
  }

  /// Stops the groups whose lane is not in `kept`, and counts them.
  HWY_INLINE void stop_failed(const Mask& kept, Vectors* velocity, std::int32_t& n_failed) const {
    TESSERA_UNROLL
    for (int a = 0; a < n(); ++a) velocity[a] = IfThenElseZero(kept, velocity[a]);
    simd::AtomicAdd(Integer(1), &n_failed, Integer(0), hn::AndNot(kept, count_));
  }

  /// Returns v ← decay·v + √(thermal/m)·R for one atom of each group.
  HWY_INLINE Vectors with_noise(const NoiseOnDevice& noise, int a, const Vectors& v) const {
    const VL id = hn::GatherIndex(DI64(), noise.id, slot_[a]);
    V decay = set(noise.decay[0]), thermal = set(noise.thermal[0]);
    if (noise.bath != nullptr) {
      const VI bath = hn::GatherIndex(DI32(), noise.bath, slot_[a]);
      decay = hn::GatherIndex(D(), noise.decay, bath);
      thermal = hn::GatherIndex(D(), noise.thermal, bath);
    }
    const auto normals = DrawNormals(noise.seed, noise.step, hn::BitCast(DU64(), id));
    const V sigma = hn::Sqrt(thermal * set(group_.inverse_mass[a]));
    return Add(Mul(decay, v), Mul(sigma, normals));
  }

  HWY_INLINE void store_velocities(const Vectors* velocity) const {
    const V per_unit = set(1 / velocity_unit);
    TESSERA_UNROLL
    for (int a = 0; a < n(); ++a) {
      store(rounded(per_unit * velocity[a].x), &step_.velocity->x, a, 0);
      store(rounded(per_unit * velocity[a].y), &step_.velocity->x, a, 1);
      store(rounded(per_unit * velocity[a].z), &step_.velocity->x, a, 2);
    }
  }

  /// Adds displacements (Å) to the positions.
  HWY_INLINE void store_moved(const Vectors* displacement) const {
    TESSERA_UNROLL
    for (int a = 0; a < n(); ++a) {
      const Vectors moved = Transform(step_.to_fraction, displacement[a]);
      drift(a, 0, moved.x);
      drift(a, 1, moved.y);
      drift(a, 2, moved.z);
    }
  }

 private:
  /// Rounds to the nearest integer, saturating at the ends of its range.
  static HWY_INLINE VI rounded(const V& value) { return hn::DemoteTo(DI32(), simd::Round(value)); }

  /// Returns the number of atoms, which the compiler knows of a batch of a known shape.
  HWY_INLINE int n() const { return most < constraint::max_group_atoms ? most : n_; }
  HWY_INLINE VI index(int a, int d) const { return hn::Add(hn::Mul(slot_[a], Integer(3)), Integer(d)); }
  HWY_INLINE VI position(int a, int d) const { return hn::GatherIndex(DI32(), &step_.position->x, index(a, d)); }
  HWY_INLINE void store(const VI& values, std::int32_t* to, int a, int d) const {
    simd::Scatter(values, to, index(a, d), count_);
  }

  HWY_INLINE V apart(int a, int d) const { return hn::PromoteTo(D(), hn::Sub(position(a, d), position(0, d))); }

  HWY_INLINE V kicked(int a, int d, const V& w) const {
    const VI at_rest = hn::GatherIndex(DI32(), &step_.velocity->x, index(a, d));
    const V v = set(velocity_unit) * hn::PromoteTo(D(), at_rest);
    return simd::MulAdd(w, fixed_force(a, d), v);
  }

  HWY_INLINE V fixed_force(int a, int d) const {
    return hn::ConvertTo(D(), hn::GatherIndex(DI64(), step_.force, index(a, d)));
  }

  /// Puts an atom where its fraction differs by so much from that of the first.
  HWY_INLINE void place_at(int a, int d, const V& apart) const {
    store(hn::Add(position(0, d), rounded(apart)), &step_.position->x, a, d);
  }

  HWY_INLINE void drift(int a, int d, const V& moved) const {
    store(hn::Add(position(a, d), rounded(moved)), &step_.position->x, a, d);
  }

  const HalfStep& step_;
  const constraint::ConstraintGroup& group_;
  const Mask count_;
  const int n_;
  VI slot_[most];
};

/// Adds a virial, one group per lane, in fixed point.
HWY_INLINE void AddVirial(GroupVirial& sums, const V (&virial)[6], const Mask& count) {
  lane_sums::HWY_NAMESPACE::AddVirial(sums.virial, sums.of_clashes, virial, count);
}

/// Adds what the kinetic energies of groups have gained, given in amu Å²/ps², twice.
HWY_INLINE void AddHeat(std::int64_t& heat, const Mask& count, const V& gained) {
  const VL fixed = simd::ToIntegers(set(0.5 / units::acceleration) * gained * set(1 / energy_unit));
  simd::AtomicAdd(simd::SumOfWarp(hn::IfThenElseZero(count, fixed)), &heat, Integer(0), simd::IsFirstLane());
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
