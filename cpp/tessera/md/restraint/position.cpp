#include "tessera/md/restraint/position.h"

#include <algorithm>
#include <array>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/md/restraint/potential.h"
#include "tessera/md/vacuum/frame.h"

namespace tessera::md::restraint {

namespace {

Fraction as_fraction(const Vec3& units) {
  return {static_cast<std::int32_t>(units.x), static_cast<std::int32_t>(units.y), static_cast<std::int32_t>(units.z)};
}

}  // namespace

const std::vector<double>& references_of(const State& state, const std::string& name) {
  const auto field =
      std::find_if(state.fields.begin(), state.fields.end(), [&](const auto& one) { return one.name == name; });
  TESSERA_CHECK(field != state.fields.end() && field->width == 3);
  return field->values;
}

Positions::Positions(std::span<const RestraintSettings> settings, const domain::Domain& domain, ThreadPool& threads)
    : settings_(settings), domain_(domain), threads_(threads), atoms_(at(threads.size())) {
  for (std::uint32_t r = 0; r < settings.size(); ++r)
    if (settings[r].kind == RestraintKind::position) held_.push_back(r);
}

void Positions::rebuild() {
  if (held_.empty()) return;
  const auto& state = domain_.state();
  std::vector<const std::vector<double>*> references;
  for (const auto r : held_) references.push_back(&references_of(state, settings_[r].reference));
  // Those of a vacuum are fractions of the frame that the run began with, and may be anywhere.
  std::array<double, 3> scale{1, 1, 1};
  if (!domain_.system().is_periodic) scale = vacuum::scale_between(domain_.system().box, state.box);
  threads_.run([&](int thread) {
    auto& mine = atoms_[at(thread)];
    mine.clear();
    const std::int64_t n = domain_.n_owned_slots();
    for (auto s = n * thread / threads_.size(); s < n * (thread + 1) / threads_.size(); ++s)
      for (std::size_t h = 0; h < held_.size(); ++h) {
        if (!settings_[held_[h]].atoms.contains(state.id[at(s)])) continue;
        const auto component = [&](std::size_t d) { return scale[d] * (*references[h])[3 * at(s) + d]; };
        mine.push_back({static_cast<std::int32_t>(s), held_[h], {component(0), component(1), component(2)}});
      }
  });
}

void Positions::add(double time, std::span<Accumulator> accumulators) const {
  if (held_.empty()) return;
  std::vector<Potential> potentials;
  for (const auto& one : settings_) potentials.push_back({one.k.at(time), one.flat});
  const auto& state = domain_.state();
  const auto to_length = state.box.unit_vectors();
  const bool is_periodic = domain_.system().is_periodic;
  threads_.run([&](int thread) {
    auto& accumulator = accumulators[at(thread)];
    for (const auto& [slot, r, reference] : atoms_[at(thread)]) {
      const auto& axes = settings_[r].axes;
      const auto& position = state.position[at(slot)];
      const Vec3 apart = is_periodic ? state.box.displacement(as_fraction(reference), position)
                                     : to_length * (position.units() - reference);
      const Vec3 d = {axes[0] * apart.x, axes[1] * apart.y, axes[2] * apart.z};
      const auto& potential = potentials[r];
      const double length = potential.flat > 0 ? norm(d) : 0;
      if (potential.flat > 0 && length <= potential.flat) continue;
      const Vec3 force = (potential.flat > 0 ? -potential.slope(length) / length : -2 * potential.k) * d;
      accumulator.add_force_alone(slot, force);  // each slot is of one thread
      if (accumulator.energies == nullptr) continue;
      accumulator.energies->add(Term::restraint,
                                potential.flat > 0 ? potential.energy(length) : potential.k * norm2(d));
      accumulator.energies->add_virial(d, force);
    }
  });
}

std::size_t Positions::bytes() const {
  std::size_t n = 0;
  for (const auto& atoms : atoms_) n += atoms.capacity() * sizeof(Atom);
  return n;
}

}  // namespace tessera::md::restraint
