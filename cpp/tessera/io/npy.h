// Writes arrays of doubles as NumPy files, version 1.0.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/comm/communicator.h"

namespace tessera::io {

/// Writes a C-ordered float64 array (n,columns) of which each rank holds the rows from `first_row` on, and brings its
/// own to the disk. The file appears whole or not at all. Throws RunError on all ranks. Collective.
void write_npy(const comm::Communicator& comm, const std::string& path, std::span<const double> rows,
               std::int64_t first_row, std::int64_t n, std::int64_t columns);

}  // namespace tessera::io
