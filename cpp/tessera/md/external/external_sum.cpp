#include "tessera/md/external/external_sum.h"

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::md::external {

void ExternalSum::rebuild() {
  own_.assign(forces_.size(), {});
  for (std::size_t f = 0; f < forces_.size(); ++f) {
    const auto& atoms = forces_[f]->atoms;
    if (!atoms) {
      for (std::int32_t slot = 0; slot < domain_.n_owned_slots(); ++slot)
        if (!domain_.is_padding(slot)) own_[f].push_back({.slot = slot, .index = own_[f].size()});
      continue;
    }
    for (std::size_t i = 0; i < atoms->size(); ++i)
      if (const auto slot = domain_.slot_of((*atoms)[i]); slot >= 0 && slot < domain_.n_owned_slots())
        own_[f].push_back({.slot = slot, .index = i});
  }
}

void ExternalSum::add(Accumulator& accumulator) {
  const auto& state = domain_.state();
  const auto& system = domain_.system();
  const auto box = system.is_periodic ? state.box : Box({}, {}, {});
  const auto place = [&](const Fraction& position) { return state.box.cartesian(position) + system.origin; };
  for (std::size_t f = 0; f < forces_.size(); ++f) {
    const auto& [listed, function] = *forces_[f];
    std::vector<std::int64_t> ids;
    std::vector<Vec3> positions(listed ? listed->size() : own_[f].size());
    if (listed) {
      // Each atom is on one rank: the others add zeros.
      std::vector<std::int64_t> fractions(3 * listed->size(), 0);
      for (const auto& [slot, i, ignored] : own_[f]) {
        const auto& p = state.position[at(slot)];
        fractions[3 * i] = p.x, fractions[3 * i + 1] = p.y, fractions[3 * i + 2] = p.z;
      }
      comm_.all_reduce_sum(fractions);
      const auto component = [&](std::size_t i) { return static_cast<std::int32_t>(fractions[i]); };
      for (std::size_t i = 0; i < positions.size(); ++i)
        positions[i] = place({component(3 * i), component(3 * i + 1), component(3 * i + 2)});
    } else {
      ids.resize(own_[f].size());
      for (const auto& [slot, i, ignored] : own_[f]) {
        ids[i] = state.id[at(slot)];
        positions[i] = place(state.position[at(slot)]);
      }
    }
    const auto result = function({.step = state.step, .box = box, .id = listed ? *listed : ids, .position = positions});
    TESSERA_CHECK(result.force.size() == positions.size());
    for (auto& [slot, i, latest] : own_[f]) {
      latest = result.force[i];
      accumulator.add_force_alone(slot, latest);
    }
    if (accumulator.energies == nullptr || (listed && !comm_.is_root())) continue;
    for (const double part : result.energy) accumulator.energies->add(Term::external, part);
    for (const auto& part : result.virial)
      for (std::size_t c = 0; c < 6; ++c) accumulator.energies->add_virial(c, part[c]);
  }
}

Vec3 ExternalSum::latest_on(std::int32_t slot) const {
  Vec3 sum;
  for (const auto& atoms : own_)
    for (const auto& atom : atoms)
      if (atom.slot == slot) sum += atom.latest;
  return sum;
}

}  // namespace tessera::md::external
