#include "tessera/md/restraint/restraints.h"

#include <array>
#include <cmath>

#include "tessera/md/restraint/coordinates.h"
#include "tessera/md/restraint/potential.h"

namespace tessera::md::restraint {

namespace {

std::vector<CentreGroup> groups_of(const std::vector<RestraintSettings>& restraints) {
  std::vector<CentreGroup> groups;
  for (const auto& one : restraints)
    for (const auto& group : one.groups) groups.push_back({&group});
  return groups;
}

}  // namespace

Restraints::Restraints(const EngineSettings& settings, const domain::Domain& domain, const comm::Communicator& comm,
                       ThreadPool& threads)
    : settings_(settings),
      domain_(domain),
      comm_(comm),
      positions_(settings.restraints, domain, threads),
      centres_(groups_of(settings.restraints), domain, comm),
      deviations_(settings.restraints, domain, comm) {}

void Restraints::rebuild() {
  positions_.rebuild();
  centres_.rebuild();
  deviations_.rebuild();
}

void Restraints::add(std::span<Accumulator> accumulators) {
  const double time = static_cast<double>(domain_.state().step) * settings_.timestep;
  positions_.add(time, accumulators);
  if (centres_.size() > 0) add_groups(time, accumulators.front());
  deviations_.add(time, accumulators.front());
}

void Restraints::add_groups(double time, Accumulator& accumulator) {
  centres_.update();
  std::size_t first = 0;  // of the restraint's groups
  for (const auto& one : settings_.restraints) {
    const auto n = one.groups.size();
    if (n == 0) continue;
    std::array<Vec3, 4> places{};
    for (std::size_t i = 1; i < n; ++i)
      places[i] = places[i - 1] + domain_.state().box.displacement(centres_[first + i - 1], centres_[first + i]);
    const auto [value, gradient] = compute(one.kind, std::span(places).first(n));
    const Potential potential{one.k.at(time), one.flat};
    const double apart = difference(one.kind, value, one.target.at(time));
    const double slope = std::copysign(potential.slope(std::abs(apart)), apart);
    for (std::size_t i = 0; i < n; ++i) centres_.add_force(first + i, -slope * gradient[i], accumulator);
    if (accumulator.energies != nullptr && comm_.is_root()) {
      accumulator.energies->add(Term::restraint, potential.energy(std::abs(apart)));
      for (std::size_t i = 1; i < n; ++i) accumulator.energies->add_virial(places[i], -slope * gradient[i]);
    }
    first += n;
  }
}

}  // namespace tessera::md::restraint
