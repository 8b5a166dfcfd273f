// Reading `*.tsr` (docs/reference/system_file.md): the inert System, and this rank's share of the coordinates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

/// Where a system is read from: a file, or a file's bytes in memory, which have a name for messages alone.
struct SystemSource {
  SystemSource(std::string path) : name(std::move(path)) {}  // a path will do
  SystemSource(std::string name_of_image, std::span<const std::byte> bytes)
      : name(std::move(name_of_image)), image(bytes) {}

  std::string name;
  std::span<const std::byte> image;  // empty: a file
};

/// Reads all but the coordinates and checks every index, so that nothing later needs to. A rank may call it alone.
/// Throws InputError: missing, truncated, not a system file, another version, an index out of range.
model::System read_system(const SystemSource& source);

/// Reads the contiguous share of this rank: whole blocks in order, with rows distributed as evenly as blocks allow.
/// Throws InputError, also where rows, ids or blocks do not fit together.
CoordinateBlock read_coordinates(const SystemSource& source, int rank, int size);

}  // namespace tessera::app
