// Reading `*.tsr` (docs/reference/system_file.md): the inert System, and this rank's share of the coordinates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/app/system/system_source.h"
#include "tessera/base/box.h"
#include "tessera/base/vec3.h"
#include "tessera/md/state.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Rows of /coordinates: whole blocks of cells, so that no hydrogen group is split.
struct CoordinateBlock {
  std::vector<std::int64_t> id;       // (rows)
  std::vector<Fraction> fraction;     // (rows)
  std::vector<Vec3> velocity;         // (rows) Å/ps; empty where the file has none
  double velocity_lag = 0;            // ps: how long the velocities stand before the positions
  std::vector<md::AtomField> fields;  // by row; what the run adds to atoms
};

/// Reads all but the coordinates and checks every index, so that nothing later needs to. A rank may call it alone.
/// Throws InputError: missing, truncated, not a system file, another version, an index out of range.
model::System read_system(const SystemSource& source);

/// Reads the contiguous share of this rank: whole blocks in order, with rows distributed as evenly as blocks allow.
/// Throws InputError, also where rows, ids or blocks do not fit together.
CoordinateBlock read_coordinates(const SystemSource& source, int rank, int size);

/// The blocks at the origin of the box, of a grid of them, and their rows.
struct Brick {
  std::array<std::int32_t, 3> grid{}, n{};  // along each edge: blocks of the box, and of the brick
  CoordinateBlock block;
};
/// Reads as many whole blocks as hold about so many atoms, about as many along each edge. A rank may call it alone.
/// Throws InputError.
Brick read_brick(const SystemSource& source, std::int64_t n_atoms_wanted);

}  // namespace tessera::app
