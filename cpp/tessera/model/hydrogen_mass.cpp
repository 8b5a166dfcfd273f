#include "tessera/model/hydrogen_mass.h"

#include <fmt/format.h>

#include "tessera/base/error.h"

namespace tessera::model {

namespace {

/// Returns the atom that each hydrogen is bonded to, or −1. The key of its group is that atom, except where virtual
/// sites have joined groups.
std::vector<std::int32_t> atoms_of_hydrogens(const Template& molecule) {
  const auto n = static_cast<std::size_t>(molecule.n_atoms());
  std::vector<std::int32_t> parent(n, -1);
  for (std::size_t atom = 0; atom < n; ++atom)
    if (molecule.group[atom] != static_cast<std::int32_t>(atom)) parent[atom] = molecule.group[atom];
  if (molecule.virtual_sites.empty()) return parent;
  for (const auto& pair : molecule.terms[bond].atoms)
    for (const std::size_t end : {0, 1}) {
      const auto atom = pair[end], other = pair[1 - end];
      if (!molecule.has(atom) || !molecule.has(other)) continue;  // between units of a chain
      if (is_hydrogen(molecule, atom) && !is_hydrogen(molecule, other) && !molecule.is_virtual_site(other))
        parent[static_cast<std::size_t>(atom)] = other;
    }
  return parent;
}

}  // namespace

bool is_hydrogen(const Template& molecule, std::int32_t atom) {
  const auto index = static_cast<std::size_t>(atom);
  return index < molecule.atomic_number.size() && molecule.atomic_number[index] == 1;
}

void repartition_hydrogen_mass(System& system, double mass) {
  for (auto& molecule : system.templates) {
    const auto n = static_cast<std::size_t>(molecule.n_atoms());
    const auto parents = atoms_of_hydrogens(molecule);
    for (std::size_t atom = molecule.rigid_water ? 3 : 0; atom < n; ++atom) {
      if (!is_hydrogen(molecule, static_cast<std::int32_t>(atom)) || parents[atom] < 0) continue;
      const auto parent = static_cast<std::size_t>(parents[atom]);
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
