// Finds which atoms of a molecule are held rigid, from its template and the run's constraint mode.
//
// A constraint group never extends beyond one hydrogen group (a heavy atom and its hydrogens), which always stays in
// one cell, so constraints need no communication. Units: Å, amu.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/md/constraint/settle.h"
#include "tessera/md/constraint/shake.h"
#include "tessera/model/system.h"

namespace tessera::md::constraint {

/// Tells which bonds have a fixed length.
enum class ConstraintMode { none, h_bonds, all_bonds };
inline constexpr std::array<std::string_view, 3> constraint_mode_names = {"none", "h-bonds", "all-bonds"};
constexpr const auto& names_of(ConstraintMode) { return constraint_mode_names; }

struct TemplateGroup {
  std::vector<std::int32_t> atoms;  // template indices, ascending: atom a of the group is atoms[a]
  ConstraintGroup group;
};

struct TemplateConstraints {
  bool is_rigid_water = false;             // all distances of atoms 0, 1, 2 are held, by `settle` or as a group
  std::optional<SettleParameters> settle;  // for atoms 0, 1, 2, where both hydrogens weigh the same
  std::vector<TemplateGroup> groups;       // by ascending first atom
  std::int64_t n_constraints = 0;          // degrees of freedom that each molecule loses
};

/// Throws InputError, which names the template and the atoms, if the constraints can't be satisfied.
TemplateConstraints make_template_constraints(const model::ForceField&, const model::Template&, ConstraintMode);

/// Returns the constraints of each template of the system.
std::vector<TemplateConstraints> make_constraints(const model::System&, ConstraintMode);

/// Counts the constraints of all molecules: degrees of freedom = 3·atoms − this − those that the thermostat leaves out.
std::int64_t count_constraints(const model::System&, const std::vector<TemplateConstraints>&);

}  // namespace tessera::md::constraint
