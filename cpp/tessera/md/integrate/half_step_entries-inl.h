// Contains the half steps of processors as half_step.cpp calls them.
HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

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
    if (energies != nullptr) AddVirialOfImpulses(impulses, n, count, step, *energies);
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
