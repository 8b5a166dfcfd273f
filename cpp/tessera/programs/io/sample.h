// A configuration to write: molten salt in a cubic box, whose atoms ranks own in no order.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/io/write/frame.h"

namespace tessera::programs {

io::write::Frame sample_frame(std::int64_t n_atoms);

/// Returns the atoms of a rank: an equal share, whose numbers are scattered over all of them. They depend on their
/// numbers alone, so a file is the same whatever the number of ranks.
std::vector<io::write::Atom> sample_atoms(std::int64_t n_atoms, int rank, int n_ranks);

}  // namespace tessera::programs
