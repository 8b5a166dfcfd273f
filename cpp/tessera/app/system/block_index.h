// Which rows of /coordinates a rank reads. The index of blocks grows with the system, so a rank reads a few parts of
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "tessera/io/hdf5.h"

namespace tessera::app {

/// The first row of a block; the number of rows for the block after the last.
using FirstRow = std::function<std::int64_t(std::int64_t block)>;

/// Returns from which to which of the blocks rank `rank` reads. Asks for the first rows of few blocks. Throws
/// InputError where blocks are not in order.
std::pair<std::int64_t, std::int64_t> share_of_blocks(std::int64_t n_blocks, const FirstRow& first_row, int rank,
                                                      int size);

/// Returns from which to which row rank `rank` reads, by the first rows of blocks in a dataset of a grid (3) of blocks
/// and n_atoms rows in all. Throws InputError where they do not fit together.
std::pair<std::int64_t, std::int64_t> own_rows(const io::Hdf5File& file, const std::string& dataset,
                                               std::span<const std::int32_t> grid, std::int64_t n_atoms, int rank,
                                               int size);

}  // namespace tessera::app
