#include "tessera/md/integrate/constraint_forces.h"

namespace tessera::md::integrate {

void add_constraint_virial(std::span<const constraint::GroupList> lists, int share, int n_shares, const HalfStep& step,
                           Failure& failure, EnergyVirial& energies) {
  for (const auto& list : lists) {
    if (list.kind.group.n_constraints == 0) continue;
    const auto n = at(list.kind.group.n_atoms), n_groups = list.size();
    for (auto g = n_groups * at(share) / at(n_shares); g < n_groups * at(share + 1) / at(n_shares); ++g) {
      const auto* slots = list.slots.data() + g * n;
      const auto found = constraint_forces<constraint::max_group_atoms>(list.kind, slots, step);
      if (!found.is_found) failure.offer({slots[0]});
      for (std::size_t k = 0; k < n; ++k) energies.add_virial(found.place[k], found.force[k]);
    }
  }
}

}  // namespace tessera::md::integrate
