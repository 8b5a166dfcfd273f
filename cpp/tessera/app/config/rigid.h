// What a run holds rigid, for its first lines.
#pragma once

#include <string>

#include "tessera/md/constraint/groups.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Describes constraints: "rigid: 1,000 waters, 36 bonds (constraints = "h-bonds")", with the molecules that are
/// flexible in the input behind it; empty where no molecule has a bond.
std::string describe_rigid(const model::System& system, md::constraint::ConstraintMode mode);

}  // namespace tessera::app
