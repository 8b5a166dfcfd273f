#include "tessera/md/integrate/baths/bath.h"

#include <algorithm>

namespace tessera::md::integrate {

Baths::Baths(const BathSettings& settings) {
  if (!settings.barostat.empty()) {
    const auto& entry = barostat(settings.barostat);
    baths_.push_back(entry.make(settings));
    if (!entry.thermostat.empty()) return;  // the heat bath is a part of it
  }
  if (settings.thermostat.empty()) return;
  const auto& entry = thermostat(settings.thermostat);
  if (entry.make != nullptr) baths_.push_back(entry.make(settings));
}

StepSums Baths::needed_sums(std::int64_t step) const {
  auto sums = StepSums::none;
  for (const auto& bath : baths_) sums = std::max(sums, bath->needed_sums(step));
  return sums;
}

std::optional<Box> Baths::trial_box(Motion& motion) {
  for (auto& bath : baths_)
    if (auto box = bath->trial_box(motion)) return box;
  return {};
}

bool Baths::accepts(Motion& motion, const Box& before, double potential) {
  bool all = true;  // no more than one of them tries boxes
  for (auto& bath : baths_) all = bath->accepts(motion, before, potential) && all;
  return all;
}

double Baths::energy(const Energies& energies, const GlobalState& state) const {
  double sum = 0;
  for (const auto& bath : baths_) sum += bath->energy(energies, state);
  return sum;
}

double coupling_of(const GlobalState& state, const std::string& name, std::size_t i) {
  const auto found = state.coupling.find(name);
  return found == state.coupling.end() || i >= found->second.size() ? 0 : found->second[i];
}

}  // namespace tessera::md::integrate
