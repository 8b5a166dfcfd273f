// Atoms that do not move: which constraint groups they are.
#pragma once

#include <cstdint>

#include "tessera/md/constraint/groups.h"
#include "tessera/model/atom_set.h"

namespace tessera::md::constraint {

/// What fixed atoms take from the system.
struct FixedCounts {
  std::int64_t n_atoms = 0;        // virtual sites do not count
  std::int64_t n_constraints = 0;  // within groups that are fixed
  std::int64_t n_groups = 0;       // atoms without constraints count as one each
};

/// `constraints`: of each template. Throws InputError where a group is fixed in part, as its other atoms could not keep
/// their distances, and where a virtual site is fixed without its parents.
FixedCounts count_fixed(const model::System& system, const std::vector<TemplateConstraints>& constraints,
                        const model::AtomSet& fixed);

inline void check_fixed(const model::System& system, ConstraintMode mode, const model::AtomSet& fixed) {
  (void)count_fixed(system, make_constraints(system, mode), fixed);
}

}  // namespace tessera::md::constraint
