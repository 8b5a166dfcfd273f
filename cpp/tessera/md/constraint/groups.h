// Which atoms of a molecule are held rigid, from its template and the mode of the run.
//
// A constraint group never leaves one hydrogen group (a heavy atom and its hydrogens), because that is what always
// stays in one cell: constraints need no communication. Units: Å, amu
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

/// Which bonds have a fixed length.
enum class ConstraintMode { none, h_bonds, all_bonds };
inline constexpr std::array<std::string_view, 3> constraint_mode_names = {"none", "h-bonds", "all-bonds"};
constexpr const auto& names_of(ConstraintMode) { return constraint_mode_names; }

struct TemplateGroup {
  std::vector<std::int32_t> atoms;  // of the template, rising: atom a of the group is atoms[a]
  ConstraintGroup group;
};

struct TemplateConstraints {
  std::optional<SettleParameters> settle;  // for atoms 0, 1, 2
  std::vector<TemplateGroup> groups;       // by rising first atom
  std::int64_t n_constraints = 0;          // degrees of freedom taken from each molecule
};

/// Throws InputError, naming the template and the atoms, where the constraints can't be kept.
TemplateConstraints make_template_constraints(const model::ForceField&, const model::Template&, ConstraintMode);

/// One for each template of the system.
std::vector<TemplateConstraints> make_constraints(const model::System&, ConstraintMode);

/// Of all molecules together: degrees of freedom = 3·atoms − these − what the thermostat leaves out.
std::int64_t count_constraints(const model::System&, const std::vector<TemplateConstraints>&);

}  // namespace tessera::md::constraint
