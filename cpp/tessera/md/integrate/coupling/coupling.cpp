#include "tessera/md/integrate/coupling/coupling.h"

#include <algorithm>

namespace tessera::md::integrate {

Couplings::Couplings(const CouplingSettings& settings) {
  if (settings.has_barostat) couplings_.push_back(make_barostat(settings));
  if (!settings.has_thermostat) return;
  switch (settings.thermostat) {
    case Thermostat::bussi:
      couplings_.push_back(make_bussi(settings));
      break;
    case Thermostat::nose_hoover:
      couplings_.push_back(make_nose_hoover(settings));
      break;
    case Thermostat::berendsen:
      couplings_.push_back(make_berendsen_thermostat(settings));
      break;
    case Thermostat::langevin:
      break;
  }
}

StepSums Couplings::needed_sums(std::int64_t step) const {
  auto sums = StepSums::none;
  for (const auto& coupling : couplings_) sums = std::max(sums, coupling->needed_sums(step));
  return sums;
}

double Couplings::energy(const Energies& energies, const State& state) const {
  double sum = 0;
  for (const auto& coupling : couplings_) sum += coupling->energy(energies, state);
  return sum;
}

double coupling_of(const State& state, const std::string& name, std::size_t i) {
  const auto found = state.coupling.find(name);
  return found == state.coupling.end() || i >= found->second.size() ? 0 : found->second[i];
}

}  // namespace tessera::md::integrate
