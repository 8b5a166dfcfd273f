#include "tessera/app/system/block_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tessera/base/error.h"

namespace tessera::app {
namespace {

/// Returns the first block whose first row is not before `row`, or the one before it where that is nearer.
std::int64_t block_nearest_to(std::int64_t row, std::int64_t n_blocks, const FirstRow& first_row) {
  // Row `low` is before `row`, and `high` is not. Blocks hold about as many rows each, so every second time the place
  // between the two is guessed from their rows.
  std::int64_t low = 0, high = n_blocks, row_of_low = first_row(low), row_of_high = first_row(high);
  if (row <= row_of_low) return low;
  for (bool is_guess = true; high - low > 1; is_guess = !is_guess) {
    const auto share = static_cast<double>(row - row_of_low) / static_cast<double>(row_of_high - row_of_low);
    const auto guess = low + static_cast<std::int64_t>(share * static_cast<double>(high - low));
    const auto middle = is_guess ? std::clamp(guess, low + 1, high - 1) : low + (high - low) / 2;
    const auto row_of_middle = first_row(middle);
    if (row_of_middle < row_of_low || row_of_middle > row_of_high)
      throw InputError(
          fmt::format("block {} begins at row {}, expected {} to {}", middle, row_of_middle, row_of_low, row_of_high));
    (row_of_middle < row ? low : high) = middle;
    (row_of_middle < row ? row_of_low : row_of_high) = row_of_middle;
  }
  return row - row_of_low < row_of_high - row ? low : high;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> share_of_blocks(std::int64_t n_blocks, const FirstRow& first_row, int rank,
                                                      int size) {
  // A rank's first block begins nearest to rank/size of the rows: monotonic, and the same on every rank.
  const std::int64_t rows = first_row(n_blocks);
  const auto boundary = [&](std::int64_t r) {
    return r == size ? n_blocks : block_nearest_to(rows / size * r + rows % size * r / size, n_blocks, first_row);
  };
  return {boundary(rank), boundary(rank + 1)};
}

std::pair<std::int64_t, std::int64_t> own_rows(const io::Hdf5File& file, const std::string& dataset,
                                               std::span<const std::int32_t> grid, std::int64_t n_atoms, int rank,
                                               int size) {
  const auto refuse = [&](const std::string& problem) {
    throw InputError(fmt::format("{}: dataset {} {}; the file is damaged or was not written by tessera: make it again",
                                 file.path(), dataset, problem));
  };
  std::int64_t n_blocks = 1;
  for (const auto n : grid) {
    if (n < 1) refuse(fmt::format("belongs to a grid of {} blocks along an edge, expected 1 or more", n));
    n_blocks *= n;
  }
  if (const auto shape = file.shape(dataset); shape.size() != 1 || shape[0] != n_blocks + 1)
    refuse(fmt::format("has {} rows, expected {}", shape.empty() ? 0 : shape[0], n_blocks + 1));
  constexpr std::int64_t window_rows = 4096;
  std::int64_t window_begin = 0;
  std::vector<std::int64_t> window;
  const FirstRow first_row = [&](std::int64_t block) {
    if (block < window_begin || block >= window_begin + std::ssize(window)) {
      window_begin = block / window_rows * window_rows;
      window = file.read_rows<std::int64_t>(dataset, window_begin, std::min(window_rows, n_blocks + 1 - window_begin));
    }
    return window[static_cast<std::size_t>(block - window_begin)];
  };
  const auto expected = fmt::format("does not rise from 0 to {} atoms", n_atoms);
  if (first_row(0) != 0 || first_row(n_blocks) != n_atoms) refuse(expected);
  std::pair<std::int64_t, std::int64_t> blocks;
  try {
    blocks = share_of_blocks(n_blocks, first_row, rank, size);
  } catch (const InputError& error) {
    refuse(fmt::format("{}: {}", expected, error.what()));
  }
  const auto offset = file.read_rows<std::int64_t>(dataset, blocks.first, blocks.second - blocks.first + 1);
  if (!std::is_sorted(offset.begin(), offset.end())) refuse(expected);
  return {offset.front(), offset.back()};
}

}  // namespace tessera::app
