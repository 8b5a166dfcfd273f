#include "tessera/md/integrate/constraint_forces.h"

#include <algorithm>

namespace tessera::md::integrate {

namespace {

using Places = std::array<Vec3, constraint::max_group_atoms>;

/// Corrects the positions of a group of any kind.
bool correct(const constraint::GroupKind& kind, const Places& before, Places& after, double tolerance) {
  const auto n = at(kind.group.n_atoms);
  if (!kind.settle)
    return constraint::shake_positions(kind.group, std::span(before).first(n), std::span(after).first(n), tolerance);
  std::array<Vec3, 3> water = {after[0], after[1], after[2]};
  const bool is_done = constraint::settle_positions(*kind.settle, {before[0], before[1], before[2]}, water);
  std::ranges::copy(water, after.begin());
  return is_done;
}

}  // namespace

void add_constraint_virial(std::span<const constraint::GroupList> lists, int share, int n_shares, const HalfStep& step,
                           Failure& failure, EnergyVirial& energies) {
  for (const auto& list : lists) {
    if (list.kind.group.n_constraints == 0) continue;
    const auto n = at(list.kind.group.n_atoms), n_groups = list.size();
    for (auto g = n_groups * at(share) / at(n_shares); g < n_groups * at(share + 1) / at(n_shares); ++g) {
      const auto* slots = list.slots.data() + g * n;
      const auto found = constraint_forces<constraint::max_group_atoms>(list.kind, slots, step, correct);
      if (!found.is_found) failure.offer({slots[0]});
      for (std::size_t k = 0; k < n; ++k) energies.add_virial(found.place[k], found.force[k]);
    }
  }
}

}  // namespace tessera::md::integrate
