// Which atoms of a molecule are held rigid, from its template and the mode of the run.
//
// A constraint group never leaves one hydrogen group (a heavy atom and its hydrogens), because that is what always
// stays in one cell: constraints need no communication. Units: Å, amu
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/md/constraint/settle.h"
#include "tessera/md/constraint/shake.h"
#include "tessera/model/system.h"

namespace tessera::md::constraint {

enum class ConstraintMode { none, h_bonds, all_bonds };

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
