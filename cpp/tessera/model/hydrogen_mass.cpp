#include "tessera/model/hydrogen_mass.h"

#include <fmt/format.h>

#include "tessera/base/error.h"

namespace tessera::model {

void repartition_hydrogen_mass(System& system, double mass) {
  for (auto& molecule : system.templates) {
    const auto n = static_cast<std::size_t>(molecule.n_atoms());
    for (std::size_t atom = molecule.rigid_water ? 3 : 0; atom < n; ++atom) {
      const auto parent = static_cast<std::size_t>(molecule.group[atom]);
      if (molecule.atomic_number[atom] != 1 || parent == atom) continue;
      molecule.mass[parent] -= mass - molecule.mass[atom];
      molecule.mass[atom] = mass;
      if (molecule.mass[parent] <= 0)
        throw InputError(fmt::format(
            "dynamics.hydrogen_mass = {} leaves atom {} of {} without mass: its hydrogens would take more than it has; "
            "choose less",
            mass, molecule.atom_name[parent],
            molecule.residue_name[static_cast<std::size_t>(molecule.residue[parent])]));
    }
  }
}

}  // namespace tessera::model
