// Reading `*.tsr` (docs/reference/system_file.md): the inert System, and this rank's share of the coordinates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/lattice.h"
#include "tessera/base/vec3.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Rows of /coordinates: whole cell-blocks, so that no hydrogen group is cut.
struct CoordinateBlock {
  std::vector<std::int64_t> id;    // (rows)
  std::vector<Fraction> fraction;  // (rows)
  std::vector<Vec3> velocity;      // (rows) Å/ps; empty where the file has none
};

/// All but the coordinates. Every index is checked, so that nothing later needs to. Every rank may call it alone.
/// Throws InputError: missing, truncated, not a system file, another version, an index out of range.
model::System read_system(const std::string& path);

/// The contiguous share of this rank: blocks are dealt out whole, in order, so that rows are as even as blocks allow.
/// Throws InputError, also where rows, ids or blocks do not fit together.
CoordinateBlock read_coordinates(const std::string& path, int rank, int size);

/// Where rank `rank`'s rows begin and end, from `block_offset` (B+1).
std::pair<std::int64_t, std::int64_t> share_of_rows(const std::vector<std::int64_t>& block_offset, int rank, int size);

}  // namespace tessera::app
