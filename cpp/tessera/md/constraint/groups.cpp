#include "tessera/md/constraint/groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/model/hydrogen_mass.h"

namespace tessera::md::constraint {
namespace {

std::string describe(const model::Template& molecule, std::int32_t atom) {
  std::string text = "atom " + std::to_string(atom + 1);
  if (at(atom) < molecule.atom_name.size()) text += " (" + molecule.atom_name[at(atom)] + ")";
  return text;
}

[[noreturn]] void refuse(const model::Template& molecule, const std::string& what) {
  throw InputError("constraints of molecule '" + molecule.name + "': " + what);
}

using Pair = std::array<std::int32_t, 2>;

[[noreturn]] void refuse_two_groups(const model::Template& molecule, const Pair& pair, ConstraintMode mode) {
  const std::string bond = "the bond of " + describe(molecule, pair[0]) + " and " + describe(molecule, pair[1]) +
                           " joins two hydrogen groups (a heavy atom and its hydrogens)";
  if (mode == ConstraintMode::all_bonds) {
    refuse(molecule, bond +
                         "; constraints = \"all-bonds\" is offered for molecules whose bonds stay inside one hydrogen "
                         "group: use constraints = \"h-bonds\"");
  }
  refuse(molecule, bond +
                       ", so its length can't be held: a hydrogen may have one heavy neighbour only; use constraints "
                       "= \"none\"");
}

// Returns constrained bonds and their lengths, each pair once, i < j, in ascending order.
std::map<Pair, double> constrained_bonds(const model::ForceField& field, const model::Template& molecule,
                                         ConstraintMode mode, bool is_rigid_water) {
  std::map<Pair, double> bonds;
  if (mode == ConstraintMode::none && !molecule.always_rigid) return bonds;
  model::for_each_kind_of_bond([&](auto kind) {
    const auto& terms = molecule.terms[kind];
    for (std::size_t t = 0; t < terms.atoms.size(); ++t) {
      auto [i, j] = terms.atoms[t];
      if (i > j) std::swap(i, j);
      if (is_rigid_water && j < 3) continue;
      if (!molecule.has(i) || !molecule.has(j)) {  // of a chain's units, which no bond of a hydrogen joins
        if (mode == ConstraintMode::all_bonds) refuse_two_groups(molecule, {i, j}, mode);
        continue;
      }
      if (molecule.is_virtual_site(i) || molecule.is_virtual_site(j)) continue;  // its place is known without
      const auto& [k, length] = field.parameters[kind].at(at(terms.parameter[t]));
      if (!molecule.always_rigid || k != 0) {
        if (mode == ConstraintMode::none) continue;
        const bool has_hydrogen = model::is_hydrogen(molecule, i) || model::is_hydrogen(molecule, j);
        if (mode == ConstraintMode::h_bonds && (!has_hydrogen || (molecule.is_flexible && k != 0))) continue;
      }
      if (!(length > 0)) {
        refuse(molecule, "the bond of " + describe(molecule, i) + " and " + describe(molecule, j) + " has length " +
                             std::to_string(length) + " A, expected a positive number");
      }
      const auto [place, is_new] = bonds.insert({{i, j}, length});
      if (!is_new && std::abs(place->second - length) > 1e-9 * length) {
        refuse(molecule, "the bond of " + describe(molecule, i) + " and " + describe(molecule, j) +
                             " is listed twice, with lengths " + std::to_string(place->second) + " and " +
                             std::to_string(length) + " A");
      }
    }
  });
  return bonds;
}

// Returns root[i], the lowest atom that i is joined to by constraints.
std::vector<std::int32_t> components(std::int64_t n_atoms, const std::map<Pair, double>& bonds) {
  std::vector<std::int32_t> root(static_cast<std::size_t>(n_atoms));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::int32_t i) {
    while (root[at(i)] != i) i = root[at(i)] = root[at(root[at(i)])];
    return i;
  };
  for (const auto& [pair, length] : bonds) {
    const std::int32_t i = find(pair[0]), j = find(pair[1]);
    root[at(std::max(i, j))] = std::min(i, j);
  }
  for (std::size_t i = 0; i < root.size(); ++i) root[i] = find(static_cast<std::int32_t>(i));
  return root;
}

void check_one_hydrogen_group(const model::Template& molecule, const Pair& pair, ConstraintMode mode) {
  if (molecule.group[at(pair[0])] != molecule.group[at(pair[1])]) refuse_two_groups(molecule, pair, mode);
}

SettleParameters settle_of(const model::Template& molecule) {
  if (molecule.n_atoms() < 3) refuse(molecule, "a rigid water needs three atoms, O, H, H");
  try {
    return make_settle(molecule.mass[0], molecule.mass[1], molecule.water_oh, molecule.water_hh);
  } catch (const InputError& error) {
    refuse(molecule, error.what());
  }
}

}  // namespace

TemplateConstraints make_template_constraints(const model::ForceField& field, const model::Template& molecule,
                                              ConstraintMode mode) {
  TemplateConstraints result;
  result.is_rigid_water = molecule.rigid_water && (mode != ConstraintMode::none || molecule.always_rigid);
  auto bonds = constrained_bonds(field, molecule, mode, result.is_rigid_water);
  for (const auto& [pair, length] : bonds) {
    check_one_hydrogen_group(molecule, pair, mode);
    if (result.is_rigid_water && pair[0] < 3) {
      refuse(molecule, "the bond of " + describe(molecule, pair[0]) + " and " + describe(molecule, pair[1]) +
                           " joins a rigid water to another constrained atom");
    }
  }
  if (result.is_rigid_water) {
    const auto settle = settle_of(molecule);
    if (std::abs(molecule.mass[1] - molecule.mass[2]) <= 1e-9 * molecule.mass[1]) {
      result.settle = settle;
      result.n_constraints = 3;
    } else {  // SETTLE's formulas are those of a symmetric molecule; HDO has its three distances held as bonds are
      bonds.insert({{{0, 1}, settle.oh}, {{0, 2}, settle.oh}, {{1, 2}, settle.hh}});
    }
  }

  const auto root = components(molecule.n_atoms(), bonds);
  std::map<std::int32_t, std::vector<Pair>> pairs_of;  // by root
  for (const auto& [pair, length] : bonds) pairs_of[root[at(pair[0])]].push_back(pair);

  for (const auto& [first, pairs] : pairs_of) {
    TemplateGroup group;
    for (const Pair& pair : pairs) group.atoms.insert(group.atoms.end(), pair.begin(), pair.end());
    std::sort(group.atoms.begin(), group.atoms.end());
    group.atoms.erase(std::unique(group.atoms.begin(), group.atoms.end()), group.atoms.end());
    if (group.atoms.size() >= 3 && pairs.size() > 3 * group.atoms.size() - 6) {
      refuse(molecule, "the group of " + describe(molecule, first) + " has " + std::to_string(pairs.size()) +
                           " constraints for " + std::to_string(group.atoms.size()) +
                           " atoms, more than a rigid body has");
    }
    std::vector<Pair> local;
    std::vector<double> distance, mass;
    const auto local_index = [&](std::int32_t atom) {
      return static_cast<std::int32_t>(std::lower_bound(group.atoms.begin(), group.atoms.end(), atom) -
                                       group.atoms.begin());
    };
    for (const Pair& pair : pairs) {
      local.push_back({local_index(pair[0]), local_index(pair[1])});
      distance.push_back(bonds.at(pair));
    }
    for (std::int32_t atom : group.atoms) mass.push_back(molecule.mass[at(atom)]);
    try {
      group.group = make_constraint_group(local, distance, mass);
    } catch (const InputError& error) {
      refuse(molecule, "the group of " + describe(molecule, first) + ": " + error.what());
    }
    result.n_constraints += group.group.n_constraints;
    result.groups.push_back(std::move(group));
  }
  return result;
}

std::vector<TemplateConstraints> make_constraints(const model::System& system, ConstraintMode mode) {
  std::vector<TemplateConstraints> result;
  for (const model::Template& molecule : system.templates) {
    result.push_back(make_template_constraints(system.force_field, molecule, mode));
  }
  return result;
}

std::int64_t count_constraints(const model::System& system, const std::vector<TemplateConstraints>& constraints) {
  std::int64_t n = 0;
  for (const model::InstanceRun& run : system.instances()) {
    n += run.count * constraints.at(at(run.molecule)).n_constraints;
  }
  return n;
}

}  // namespace tessera::md::constraint
