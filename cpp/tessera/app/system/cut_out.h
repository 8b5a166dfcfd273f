// A part of a large system as a system of its own: to measure by where the whole does not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/app/system/system_file.h"
#include "tessera/model/system.h"

namespace tessera::app {

struct CutOut {
  model::System system;
  CoordinateBlock block;
};

/// Cuts out the molecules that are whole within a brick of about so many atoms, in a periodic box that is a little
/// longer than the brick, so that no atoms overlap at its faces. Its density is that of the system but for that.
/// Returns nothing where the system is not periodic or not orthorhombic, or most atoms of the brick belong to molecules
/// that leave it. Reads only these blocks. Throws InputError.
std::optional<CutOut> cut_out(const SystemSource& source, const model::System& system, std::int64_t n_atoms);

}  // namespace tessera::app
