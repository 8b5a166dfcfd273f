// How stiff the energy is where atoms move, so that a minimiser can take stiff and soft ones for alike.
#pragma once

#include <vector>

#include "tessera/model/system.h"

namespace tessera::md::minimize {

/// Returns the curvature of the energy in the direction of a bond for each atom of a template, kcal/mol/Å², roughly: of
/// its bonds, without those inside hydrogen groups if constraints hold these, and of all else.
std::vector<double> stiffness_of(const model::ForceField& field, const model::Template& kind, bool has_constraints);

}  // namespace tessera::md::minimize
