// Contains the half steps of processors as half_step.cpp calls them, with virials.
HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

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

void KickAndDrift(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                  Failure& failure) {
  WithShape(list, [&]<int N, int A> { KickAndDriftKind<N, A>(list, begin, end, step, failure); });
}

std::int64_t KickAndDriftWithNoise(const constraint::GroupList& list, std::size_t begin, std::size_t end,
                                   const HalfStep& step, const FrictionAndNoise& noise, Failure& failure) {
  std::int64_t heat = 0;
  WithShape(list, [&]<int N, int A> { KickAndDriftWithNoiseKind<N, A>(list, begin, end, step, noise, heat, failure); });
  return heat;
}

void KickAndProject(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                    Failure& failure, EnergyVirial* energies) {
  const auto add_virial = [&](const auto& impulses, int n, std::size_t count) HWY_ATTR {
    if (energies != nullptr) AddVirial(impulses, n, count, 2 / (step.timestep * units::acceleration), *energies);
  };
  WithShape(list, [&]<int N, int A> { KickAndProjectKind<N, A>(list, begin, end, step, failure, add_virial); });
}

void AddVirialWithin(const constraint::GroupList& list, std::size_t begin, std::size_t end, const HalfStep& step,
                     EnergyVirial& energies) {
  WithShape(list, [&]<int N, int A> { AddVirialWithinKind<N, A>(list, begin, end, step, energies); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
