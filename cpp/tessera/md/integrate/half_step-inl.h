// Contains the bodies of the half steps; half_step.cpp includes it once for each instruction set, after lanes-inl.h, and
// kernels of a device after device/lanes-inl.h.
//
// Cost: memory is the bound. An atom's force, velocity and position are 48 bytes, of which the first half step writes
//   24 back and the second 12; a list is read once.

// Stands before bodies, which on a device are a part of its kernel.
#undef TESSERA_HALF_STEP
#ifdef TESSERA_LANE
#define TESSERA_HALF_STEP HWY_INLINE
#else
#define TESSERA_HALF_STEP
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

/// Three constraints between three atoms make a rigid water.
template <int N, int A>
inline constexpr bool is_water = N == 3 && A == 3;

/// Changes velocities so that a drift over `timestep` from `place` keeps the constraints. Returns the lanes where that
/// was possible.
template <int N, int A>
HWY_INLINE Mask Constrain(const constraint::GroupKind& kind, const Vectors* place, Vectors* velocity, double timestep,
                          double tolerance) {
  if constexpr (is_water<N, A>)
    return lanewise::Settle(*kind.settle, place, velocity, timestep);
  else
    return lanewise::Shake<N, A>(kind.group, place, velocity, timestep, tolerance);
}

template <int N, int A, class List, class Failed>
TESSERA_HALF_STEP void KickAndDriftKind(const List& list, std::size_t begin, std::size_t end, const HalfStep& step,
                                        Failed& failure) {
  const auto& group = list.kind.group;
  ForBatches(list, begin, end, step, [&](const auto& slots, const auto& count) HWY_ATTR {
    const int n = N < 0 ? group.n_atoms : A;
    Batch<A> batch(step, group, slots, count, n);
    Vectors v[A];
    Mask kept = batch.kick(v);
    if constexpr (N != 0) {
      Vectors place[A];
      batch.places(place);
      kept = hn::And(kept, Constrain<N, A>(list.kind, place, v, step.timestep, step.tolerance));
    }
    batch.stop_failed(kept, v, failure);
    batch.store_velocities(v);
    TESSERA_UNROLL
    for (int a = 0; a < n; ++a) v[a] = Mul(set(step.timestep), v[a]);
    batch.store_moved(v);
  });
}

/// Returns Σ m v² of each lane's group.
HWY_INLINE V MassTimesSpeed2(const constraint::ConstraintGroup& group, int n, const Vectors* v) {
  V sum = hn::Zero(D());
  TESSERA_UNROLL
  for (int a = 0; a < n; ++a) sum = simd::MulAdd(set(1 / group.inverse_mass[a]), Dot(v[a], v[a]), sum);
  return sum;
}

template <int N, int A, class List, class Noise, class Heat, class Failed>
TESSERA_HALF_STEP void KickAndDriftWithNoiseKind(const List& list, std::size_t begin, std::size_t end,
                                                 const HalfStep& step, const Noise& noise, Heat& heat,
                                                 Failed& failure) {
  const auto& group = list.kind.group;
  const double half = 0.5 * step.timestep;
  ForBatches(list, begin, end, step, [&](const auto& slots, const auto& count) HWY_ATTR {
    const int n = N < 0 ? group.n_atoms : A;
    Batch<A> batch(step, group, slots, count, n);
    Vectors v[A], moved[A];
    [[maybe_unused]] Vectors place[A];
    Mask kept = batch.kick(v);
    const auto drift = [&]() HWY_ATTR {
      if constexpr (N != 0) kept = hn::And(kept, Constrain<N, A>(list.kind, place, v, half, step.tolerance));
    };
    const auto project = [&]() HWY_ATTR {
      if constexpr (N != 0) kept = hn::And(kept, lanewise::Rattle<N, A>(group, place, v).is_solved);
    };
    if constexpr (N != 0) batch.places(place);
    drift();
    TESSERA_UNROLL
    for (int a = 0; a < n; ++a) moved[a] = Mul(set(half), v[a]);
    if constexpr (N != 0) {
      TESSERA_UNROLL
      for (int a = 1; a < n; ++a) place[a] = Add(place[a], Sub(moved[a], moved[0]));
    }
    project();
    const V before = MassTimesSpeed2(group, n, v);
    TESSERA_UNROLL
    for (int a = 0; a < n; ++a) v[a] = batch.with_noise(noise, a, v[a]);
    project();
    AddHeat(heat, count, hn::IfThenElseZero(kept, MassTimesSpeed2(group, n, v) - before));
    drift();
    batch.stop_failed(kept, v, failure);
    batch.store_velocities(v);
    TESSERA_UNROLL
    for (int a = 0; a < n; ++a) moved[a] = IfThenElseZero(kept, MulAdd(set(half), v[a], moved[a]));
    batch.store_moved(moved);
  });
}

/// Changes velocities alone. `add_virial` takes impulses of RATTLE, how many each group has, and which groups count.
template <int N, int A, class List, class Failed, class AddVirial>
TESSERA_HALF_STEP void KickAndProjectKind(const List& list, std::size_t begin, std::size_t end, const HalfStep& step,
                                          Failed& failure, const AddVirial& add_virial) {
  const auto& group = list.kind.group;
  ForBatches(list, begin, end, step, [&](const auto& slots, const auto& count) HWY_ATTR {
    Batch<A> batch(step, group, slots, count, N < 0 ? group.n_atoms : A);
    Vectors v[A];
    Mask kept = batch.kick(v);
    if constexpr (N != 0) {
      Vectors place[A];
      batch.places(place);
      const auto impulses = lanewise::Rattle<N, A>(group, place, v);
      kept = hn::And(kept, impulses.is_solved);
      add_virial(impulses, group.n_constraints, count);
    }
    batch.stop_failed(kept, v, failure);
    batch.store_velocities(v);
  });
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

/// Adds W = Σ_k μ_k r_k⊗r_k, one group per lane, in fixed point: the impulses of n constraints are those of half a step.
template <int N, class Count, class Sums>
HWY_INLINE void AddVirialOfImpulses(const lanewise::Impulses<N>& impulses, int n, const Count& count,
                                    const HalfStep& step, Sums& sums) {
  const double to_force = 2 / (step.timestep * units::acceleration);
  V virial[6];
  for (V& component : virial) component = hn::Zero(D());
  TESSERA_UNROLL
  for (int k = 0; k < (N < 0 ? n : N); ++k)
    AddPart(impulses.r[k], Mul(impulses.mu[k] * set(to_force), impulses.r[k]), virial);
  AddVirial(sums, virial, count);
}

/// Adds Σ (r − R)⊗F over the atoms of groups, R the place of a group's first atom.
template <int N, int A, class List, class Sums>
TESSERA_HALF_STEP void AddVirialWithinKind(const List& list, std::size_t begin, std::size_t end, const HalfStep& step,
                                           Sums& sums) {
  if constexpr (A > 1) {
    const auto& group = list.kind.group;
    ForBatches(list, begin, end, step, [&](const auto& slots, const auto& count) HWY_ATTR {
      const int n = N < 0 ? group.n_atoms : A;
      const Batch<A> batch(step, group, slots, count, n);
      Vectors place[A];
      batch.places(place);
      V virial[6];
      for (V& component : virial) component = hn::Zero(D());
      TESSERA_UNROLL
      for (int a = 1; a < n; ++a) AddPart(place[a], batch.force(a), virial);
      AddVirial(sums, virial, count);
    });
  }
}

/// Calls run<N, A>() with the numbers of constraints and atoms of a list's groups, or with −1 constraints and the
/// greatest number of atoms if no loop is compiled for this shape.
template <class List, class Run>
HWY_INLINE void WithShape(const List& list, Run&& run) {
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

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
