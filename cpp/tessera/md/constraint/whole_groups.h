// Sets of atoms that must hold constraint groups as a whole, such as those that do not move or are in one heat bath.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/md/constraint/groups.h"
#include "tessera/model/atom_set.h"

namespace tessera::md::constraint {

/// What is within a set of atoms.
struct GroupCounts {
  std::int64_t n_atoms = 0;  // virtual sites do not count
  std::int64_t n_constraints = 0;
  std::int64_t n_groups = 0;  // atoms without constraints count as one each
};

/// Counts constraint groups in a set of atoms; `constraints`: of each template. Throws InputError where a group is in
/// the set in part, as its atoms could not keep their distances, and where a virtual site is in it without its parents;
/// messages say that `key` selects the atoms.
GroupCounts count_whole_groups(const model::System& system, const std::vector<TemplateConstraints>& constraints,
                               const model::AtomSet& atoms, const std::string& key);

inline void check_whole_groups(const model::System& system, ConstraintMode mode, const model::AtomSet& atoms,
                               const std::string& key) {
  (void)count_whole_groups(system, make_constraints(system, mode), atoms, key);
}

}  // namespace tessera::md::constraint
