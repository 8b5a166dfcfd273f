#include "tessera/md/integrate/baths/bath.h"

#include <algorithm>

namespace tessera::md::integrate {

Couplings::Couplings(const CouplingSettings& settings) {
  if (settings.has_barostat) {
    switch (settings.barostat) {
      case Barostat::c_rescale:
      case Barostat::berendsen:
        couplings_.push_back(make_cell_scaling(settings));
        break;
      case Barostat::mtk:
        couplings_.push_back(make_mtk(settings));
        return;  // the heat bath is a part of it
      case Barostat::monte_carlo:
        couplings_.push_back(make_monte_carlo(settings));
        break;
    }
  }
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

std::optional<Box> Couplings::trial_box(Motion& motion) {
  for (auto& coupling : couplings_)
    if (auto box = coupling->trial_box(motion)) return box;
  return {};
}

bool Couplings::accepts(Motion& motion, const Box& before, double potential) {
  bool all = true;  // no more than one of them tries boxes
  for (auto& coupling : couplings_) all = coupling->accepts(motion, before, potential) && all;
  return all;
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
