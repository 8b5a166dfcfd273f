// Contains what the half steps call, for processors: a batch of groups has one group to a lane. For lanes of a device,
// device/lanes-inl.h stands in for it, whose names are the same. half_step.cpp includes it once for each instruction set.
#include "tessera/md/integrate/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

/// Loads, changes and stores a batch of groups of up to `most` atoms, one group per lane. The last batch of a list is
/// filled up with copies of its first group, which is stored once.
template <int most>
class Batch {
 public:
  HWY_INLINE Batch(const HalfStep& step, const constraint::ConstraintGroup& group, const std::int32_t* slots,
                   std::size_t count, int n_atoms)
      : step_(step), group_(group), slots_(slots), count_(count), n_(n_atoms) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (int a = 0; a < n_; ++a) {
        const auto slot = slot_of(lane, a);
        const std::int64_t* f = step.force + 3 * slot;
        const auto& v = step.velocity[slot];
        const auto& x = step.position[slot];
        force_[a][0][lane] = f[0], force_[a][1][lane] = f[1], force_[a][2][lane] = f[2];
        velocity_[a][0][lane] = v.x, velocity_[a][1][lane] = v.y, velocity_[a][2][lane] = v.z;
        position_[a][0][lane] = x.x, position_[a][1][lane] = x.y, position_[a][2][lane] = x.z;
      }
    }
  }

  /// Loads positions relative to the first atom, Å.
  HWY_INLINE void places(Vectors* place) const {
    const V zero = hn::Zero(D());
    place[0] = {zero, zero, zero};
    for (int a = 1; a < n_; ++a) place[a] = Transform(step_.to_length, {apart(a, 0), apart(a, 1), apart(a, 2)});
  }

  /// Computes velocities (Å/ps) after the forces have acted. Returns the lanes in which all atoms are within the speed
  /// limit.
  HWY_INLINE Mask kick(Vectors* velocity) const {
    Mask is_slow = hn::Eq(hn::Zero(D()), hn::Zero(D()));
    for (int a = 0; a < n_; ++a) {
      const V w = set(group_.inverse_mass[a] * acceleration());
      velocity[a] = {kicked(a, 0, w), kicked(a, 1, w), kicked(a, 2, w)};
      is_slow = hn::And(is_slow, Dot(velocity[a], velocity[a]) < set(speed_limit * speed_limit));
    }
    return is_slow;
  }

  /// Returns the force on one atom of each group, kcal/mol/Å.
  HWY_INLINE Vectors force(int a) const {
    const auto component = [&](int d) HWY_ATTR {
      return set(force_unit) * hn::ConvertTo(D(), hn::Load(DI64(), force_[a][d]));
    };
    return {component(0), component(1), component(2)};
  }

  /// Stops the groups whose lane is not in `kept`, and reports the first of them.
  HWY_INLINE void stop_failed(Mask kept, Vectors* velocity, Failure& failure) const {
    if (HWY_LIKELY(hn::AllTrue(D(), kept))) return;
    for (int a = 0; a < n_; ++a) velocity[a] = IfThenElseZero(kept, velocity[a]);
    alignas(64) double is_kept[lanes];
    hn::Store(hn::IfThenElseZero(kept, set(1)), D(), is_kept);
    for (std::size_t lane = 0; lane < count_; ++lane)
      if (is_kept[lane] == 0) failure.offer(describe(lane));
  }

  /// Returns v ← decay·v + √(thermal/m)·R for one atom of each group.
  HWY_INLINE Vectors with_noise(const FrictionAndNoise& noise, int a, const Vectors& v) const {
    HWY_ALIGN std::int64_t id[lanes];
    HWY_ALIGN double decay[lanes], thermal[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto slot = slot_of(lane, a);
      const auto& bath = noise.baths[noise.bath == nullptr ? 0 : noise.bath[slot]];
      id[lane] = noise.id[slot];
      decay[lane] = bath.decay;
      thermal[lane] = bath.thermal;
    }
    const D d;
    const auto normals = DrawNormals(noise.seed, noise.step, hn::BitCast(DU64(), hn::Load(DI64(), id)));
    const V sigma = hn::Sqrt(hn::Load(d, thermal) * set(group_.inverse_mass[a]));
    return Add(Mul(hn::Load(d, decay), v), Mul(sigma, normals));
  }

  HWY_INLINE void store_velocities(const Vectors* velocity) {
    const V per_unit = set(1 / velocity_unit);
    for (int a = 0; a < n_; ++a) {
      hn::Store(rounded(per_unit * velocity[a].x), DI32(), velocity_[a][0]);
      hn::Store(rounded(per_unit * velocity[a].y), DI32(), velocity_[a][1]);
      hn::Store(rounded(per_unit * velocity[a].z), DI32(), velocity_[a][2]);
    }
    for_atoms([&](std::size_t slot, int a, std::size_t lane) HWY_ATTR {
      step_.velocity[slot] = {velocity_[a][0][lane], velocity_[a][1][lane], velocity_[a][2][lane]};
    });
  }

  /// Adds displacements (Å) to the positions.
  HWY_INLINE void store_moved(const Vectors* displacement) {
    for (int a = 0; a < n_; ++a) {
      const Vectors moved = Transform(step_.to_fraction, displacement[a]);
      drift(a, 0, moved.x);
      drift(a, 1, moved.y);
      drift(a, 2, moved.z);
    }
    for_atoms([&](std::size_t slot, int a, std::size_t lane) HWY_ATTR {
      step_.position[slot] = {position_[a][0][lane], position_[a][1][lane], position_[a][2][lane]};
    });
  }

 private:
  /// Returns the slot of an atom of a lane's group.
  HWY_INLINE std::size_t slot_of(std::size_t lane, int a) const {
    const auto group = (lane < count_ ? lane : 0) * static_cast<std::size_t>(n_);
    return static_cast<std::size_t>(slots_[group + static_cast<std::size_t>(a)]);
  }

  double acceleration() const { return units::acceleration * step_.kick * force_unit; }

  /// Rounds to the nearest integer, saturating at the ends of its range.
  static HWY_INLINE hn::Vec<DI32> rounded(V value) { return hn::DemoteTo(DI32(), simd::Round(value)); }

  HWY_INLINE V apart(int a, int d) const {
    const DI32 di;
    return hn::PromoteTo(D(), hn::Sub(hn::Load(di, position_[a][d]), hn::Load(di, position_[0][d])));
  }

  HWY_INLINE V kicked(int a, int d, V w) const {
    const V v = set(velocity_unit) * hn::PromoteTo(D(), hn::Load(DI32(), velocity_[a][d]));
    return simd::MulAdd(w, hn::ConvertTo(D(), hn::Load(DI64(), force_[a][d])), v);
  }

  HWY_INLINE void drift(int a, int d, V moved) {
    const DI32 di;
    hn::Store(hn::Add(hn::Load(di, position_[a][d]), rounded(moved)), di, position_[a][d]);
  }

  template <class Work>
  HWY_INLINE void for_atoms(Work&& work) const {
    for (std::size_t lane = 0; lane < count_; ++lane)
      for (int a = 0; a < n_; ++a) work(slot_of(lane, a), a, lane);
  }

  HWY_NOINLINE Failure describe(std::size_t lane) const {
    const std::int32_t* slots = slots_ + lane * static_cast<std::size_t>(n_);
    for (int a = 0; a < n_; ++a) {
      double speed2 = 0;
      for (int d = 0; d < 3; ++d) {
        const double v = velocity_[a][d][lane] * velocity_unit +
                         group_.inverse_mass[a] * acceleration() * static_cast<double>(force_[a][d][lane]);
        speed2 += v * v;
      }
      if (!(speed2 < speed_limit * speed_limit)) return {slots[a], std::sqrt(speed2)};
    }
    return {slots[0], 0};
  }

  const HalfStep& step_;
  const constraint::ConstraintGroup& group_;
  const std::int32_t* slots_;
  const std::size_t count_;
  const int n_;
  HWY_ALIGN std::int64_t force_[most][3][lanes];
  HWY_ALIGN std::int32_t velocity_[most][3][lanes];
  HWY_ALIGN std::int32_t position_[most][3][lanes];
};

/// Prefetches the cache lines of some slots.
HWY_INLINE void Prefetch(const HalfStep& step, const std::int32_t* slots, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    hwy::Prefetch(step.force + 3 * std::ptrdiff_t{slots[i]});
    hwy::Prefetch(step.velocity + slots[i]);
    hwy::Prefetch(step.position + slots[i]);
  }
}

/// Calls work(slots, count) for batches of the groups [begin, end). Atoms of a group are scattered over their cell,
/// which the hardware can't predict, so the batch after the next one is prefetched.
template <class Work>
HWY_INLINE void ForBatches(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                           Work&& work) {
  const auto n_atoms = static_cast<std::size_t>(list.kind.group.n_atoms);
  for (std::size_t g = begin; g < end; g += lanes) {
    if (g + 3 * lanes <= end) Prefetch(step, list.slots.data() + (g + 2 * lanes) * n_atoms, lanes * n_atoms);
    work(list.slots.data() + g * n_atoms, end - g < lanes ? end - g : lanes);
  }
}

using lane_sums::HWY_NAMESPACE::AddVirial;

/// Adds what the kinetic energies of groups have gained, given in amu Å²/ps², twice.
HWY_INLINE void AddHeat(std::int64_t& heat, std::size_t count, V gained) {
  HWY_ALIGN double of_lanes[lanes];
  hn::Store(gained, D(), of_lanes);
  for (std::size_t lane = 0; lane < count; ++lane)
    add_fixed(heat, to_fixed(0.5 / units::acceleration * of_lanes[lane], energy_unit));
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
