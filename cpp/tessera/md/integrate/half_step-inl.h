// Contains the bodies of the half steps; half_step.cpp includes it once for each instruction set.
//
// Cost: memory is the bound. An atom's force, velocity and position are 48 bytes, of which the first half step writes
//   24 back and the second 12; a list is read once.
HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

namespace lanewise = constraint::HWY_NAMESPACE;
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using lanewise::lanes;
using lanewise::Mask;
using DI32 = hn::Rebind<std::int32_t, D>;
using DI64 = hn::Rebind<std::int64_t, D>;

/// Multiplies vectors by the box's matrix. What is beyond its diagonal adds zeros to the products where the box is
/// orthorhombic, which costs less than a branch and changes no bit.
HWY_INLINE Vectors Transform(const Triangular& m, const Vectors& r) {
  return {simd::MulAdd(set(m.xz), r.z, simd::MulAdd(set(m.xy), r.y, set(m.xx) * r.x)),
          simd::MulAdd(set(m.yz), r.z, set(m.yy) * r.y), set(m.zz) * r.z};
}

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
    const auto normals = DrawNormals(noise, hn::BitCast(DU64(), hn::Load(DI64(), id)));
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

/// Changes velocities so that a drift over `timestep` from `place` keeps the constraints. Returns the lanes where that
/// was possible.
template <int N, bool is_water>
HWY_INLINE Mask Constrain(const constraint::GroupKind& kind, const Vectors* place, Vectors* velocity, double timestep,
                          double tolerance) {
  if constexpr (is_water) return lanewise::Settle(*kind.settle, place, velocity, timestep);
  return lanewise::Shake<N>(kind.group, place, velocity, timestep, tolerance);
}

template <int N, int A, bool is_water>
void KickAndDriftKind(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                      Failure& failure) {
  const auto& group = list.kind.group;
  ForBatches(list, begin, end, step, [&](const std::int32_t* slots, std::size_t count) HWY_ATTR {
    const int n = N < 0 ? group.n_atoms : A;
    Batch<A> batch(step, group, slots, count, n);
    Vectors v[A];
    Mask kept = batch.kick(v);
    if constexpr (N != 0) {
      Vectors place[A];
      batch.places(place);
      kept = hn::And(kept, Constrain<N, is_water>(list.kind, place, v, step.timestep, step.tolerance));
    }
    batch.stop_failed(kept, v, failure);
    batch.store_velocities(v);
    for (int a = 0; a < n; ++a) v[a] = Mul(set(step.timestep), v[a]);
    batch.store_moved(v);
  });
}

/// Returns Σ m v² of each lane's group.
HWY_INLINE V MassTimesSpeed2(const constraint::ConstraintGroup& group, int n, const Vectors* v) {
  V sum = hn::Zero(D());
  for (int a = 0; a < n; ++a) sum = simd::MulAdd(set(1 / group.inverse_mass[a]), Dot(v[a], v[a]), sum);
  return sum;
}

template <int N, int A, bool is_water>
std::int64_t KickAndDriftWithNoiseKind(const constraint::GroupList& list, std::size_t begin, std::size_t end,
                                       const HalfStep& step, const FrictionAndNoise& noise, Failure& failure) {
  const auto& group = list.kind.group;
  const double half = 0.5 * step.timestep;
  std::int64_t heat = 0;
  ForBatches(list, begin, end, step, [&](const std::int32_t* slots, std::size_t count) HWY_ATTR {
    const int n = N < 0 ? group.n_atoms : A;
    Batch<A> batch(step, group, slots, count, n);
    Vectors v[A], place[A], moved[A];
    Mask kept = batch.kick(v);
    const auto drift = [&] HWY_ATTR {
      if constexpr (N != 0) kept = hn::And(kept, Constrain<N, is_water>(list.kind, place, v, half, step.tolerance));
    };
    const auto project = [&] HWY_ATTR {
      if constexpr (N != 0) kept = hn::And(kept, lanewise::Rattle<N>(group, place, v).is_solved);
    };
    if constexpr (N != 0) batch.places(place);
    drift();
    for (int a = 0; a < n; ++a) moved[a] = Mul(set(half), v[a]);
    if constexpr (N != 0)
      for (int a = 1; a < n; ++a) place[a] = Add(place[a], Sub(moved[a], moved[0]));
    project();
    const V before = MassTimesSpeed2(group, n, v);
    for (int a = 0; a < n; ++a) v[a] = batch.with_noise(noise, a, v[a]);
    project();
    HWY_ALIGN double gained[lanes];
    hn::Store(hn::IfThenElseZero(kept, MassTimesSpeed2(group, n, v) - before), D(), gained);
    for (std::size_t lane = 0; lane < count; ++lane)
      add_fixed(heat, to_fixed(0.5 / units::acceleration * gained[lane], energy_unit));
    drift();
    batch.stop_failed(kept, v, failure);
    batch.store_velocities(v);
    for (int a = 0; a < n; ++a) moved[a] = IfThenElseZero(kept, MulAdd(set(half), v[a], moved[a]));
    batch.store_moved(moved);
  });
  return heat;
}

/// Adds the part r⊗F of one atom to the virial of each lane's group.
HWY_INLINE void AddPart(const Vectors& r, const Vectors& f, V (&virial)[6]) {
  virial[0] = simd::MulAdd(r.x, f.x, virial[0]);
  virial[1] = simd::MulAdd(r.y, f.y, virial[1]);
  virial[2] = simd::MulAdd(r.z, f.z, virial[2]);
  virial[3] = simd::MulAdd(r.x, f.y, virial[3]);
  virial[4] = simd::MulAdd(r.x, f.z, virial[4]);
  virial[5] = simd::MulAdd(r.y, f.z, virial[5]);
}

/// Adds W = Σ_k μ_k r_k⊗r_k, one group per lane, in fixed point.
template <int N>
HWY_INLINE void AddVirial(const lanewise::Impulses<N>& impulses, int n, std::size_t count, double to_force,
                          EnergyVirial& energies) {
  V virial[6];
  for (V& component : virial) component = hn::Zero(D());
  for (int k = 0; k < n; ++k) AddPart(impulses.r[k], Mul(impulses.mu[k] * set(to_force), impulses.r[k]), virial);
  lane_sums::HWY_NAMESPACE::AddVirial(energies, virial, count);
}

template <int N, int A>
void AddVirialWithinKind(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                         EnergyVirial& energies) {
  if constexpr (A > 1) {
    const auto& group = list.kind.group;
    ForBatches(list, begin, end, step, [&](const std::int32_t* slots, std::size_t count) HWY_ATTR {
      const int n = N < 0 ? group.n_atoms : A;
      const Batch<A> batch(step, group, slots, count, n);
      Vectors place[A];
      batch.places(place);
      V virial[6];
      for (V& component : virial) component = hn::Zero(D());
      for (int a = 1; a < n; ++a) AddPart(place[a], batch.force(a), virial);
      lane_sums::HWY_NAMESPACE::AddVirial(energies, virial, count);
    });
  }
}

template <int N, int A>
void KickAndProjectKind(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                        Failure& failure, EnergyVirial* energies) {
  const auto& group = list.kind.group;
  ForBatches(list, begin, end, step, [&](const std::int32_t* slots, std::size_t count) HWY_ATTR {
    Batch<A> batch(step, group, slots, count, N < 0 ? group.n_atoms : A);
    Vectors v[A];
    Mask kept = batch.kick(v);
    if constexpr (N != 0) {
      Vectors place[A];
      batch.places(place);
      const auto impulses = lanewise::Rattle<N>(group, place, v);
      kept = hn::And(kept, impulses.is_solved);
      if (energies != nullptr)
        AddVirial<N>(impulses, group.n_constraints, count, 2 / (step.timestep * units::acceleration), *energies);
    }
    batch.stop_failed(kept, v, failure);
    batch.store_velocities(v);
  });
}

/// Calls run<N, A>() with the numbers of constraints and atoms of a list's groups, or with −1 constraints and the
/// greatest number of atoms if no loop is compiled for this shape.
template <class Run>
HWY_INLINE void WithShape(const constraint::GroupList& list, Run&& run) {
  const auto& group = list.kind.group;
  if (list.kind.settle) return run.template operator()<3, 3>();
  if (group.n_atoms == group.n_constraints + 1) {
    if (group.n_constraints == 0) return run.template operator()<0, 1>();
    if (group.n_constraints == 1) return run.template operator()<1, 2>();
    if (group.n_constraints == 2) return run.template operator()<2, 3>();
    if (group.n_constraints == 3) return run.template operator()<3, 4>();
  }
  run.template operator()<-1, constraint::max_group_atoms>();
}

void KickAndDrift(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                  Failure& failure) {
  // Three constraints between three atoms make a rigid water.
  WithShape(list, [&]<int N, int A> { KickAndDriftKind<N, A, N == 3 && A == 3>(list, begin, end, step, failure); });
}

std::int64_t KickAndDriftWithNoise(const constraint::GroupList& list, std::size_t begin, std::size_t end,
                                   const HalfStep& step, const FrictionAndNoise& noise, Failure& failure) {
  std::int64_t heat = 0;
  WithShape(list, [&]<int N, int A> {
    heat = KickAndDriftWithNoiseKind < N, A, N == 3 && A == 3 > (list, begin, end, step, noise, failure);
  });
  return heat;
}

void KickAndProject(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                    Failure& failure, EnergyVirial* energies) {
  WithShape(list, [&]<int N, int A> { KickAndProjectKind<N, A>(list, begin, end, step, failure, energies); });
}

void AddVirialWithin(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                     EnergyVirial& energies) {
  WithShape(list, [&]<int N, int A> { AddVirialWithinKind<N, A>(list, begin, end, step, energies); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
