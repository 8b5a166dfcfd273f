// Moves replicated data: each rank owns a block of the slots and has the blocks of all others, its own first. Collective
// operations see blocks in the order of ranks.
#include <algorithm>
#include <numeric>

#include "tessera/base/index.h"
#include "tessera/md/domain/domain.h"

namespace tessera::md::domain {

namespace {

std::ptrdiff_t sum_before(const std::vector<std::int64_t>& sizes, int rank) {
  return std::accumulate(sizes.begin(), sizes.begin() + rank, std::ptrdiff_t{0});
}

}  // namespace

/// Returns how many values each rank's block has.
std::vector<std::int64_t> Domain::block_sizes(std::int64_t values_of_slot) const {
  std::vector<std::int64_t> sizes;
  for (const auto& neighbour : neighbours_) {
    const auto first = neighbour.first_receive_cell, end = first + neighbour.n_receive_cells;
    sizes.push_back((cell_begin_[at(end)] - cell_begin_[at(first)]) * cluster_size * values_of_slot);
  }
  return sizes;
}

/// Returns the numbers of clusters in the cells of each rank.
std::vector<std::vector<std::int32_t>> Domain::clusters_of_all() const {
  std::vector<std::int32_t> own;
  for (std::int32_t c = 0; c < n_owned_cells_; ++c) own.push_back(cell_begin_[at(c) + 1] - cell_begin_[at(c)]);
  std::vector<std::vector<std::int32_t>> all;
  for (const auto& block : comm_.all_gather(comm::bytes_of(own))) {
    const auto clusters = comm::values_of<std::int32_t>(block);
    all.emplace_back(clusters.begin(), clusters.end());
  }
  return all;
}

/// Fetches the blocks of all other ranks: the vector distributed global broadcast.
void Domain::gather_blocks(std::span<std::byte> values, std::int64_t bytes_of_slot) {
  const auto sizes = block_sizes(bytes_of_slot);
  const auto own = sizes[at(comm_.rank())], before = sum_before(sizes, comm_.rank());
  blocks_.resize((values.size() + sizeof blocks_[0] - 1) / sizeof blocks_[0]);
  const auto all = comm::writable_bytes_of(blocks_).first(values.size());
  comm_.all_gather(values.first(at(own)), sizes, all);
  std::copy_n(all.begin(), before, values.begin() + own);
  std::copy(all.begin() + before + own, all.end(), values.begin() + before + own);
}

/// Sums what all ranks have for the atoms of each, which gets the sum for its own: the vector distributed global sum.
/// This rank's forces on its own atoms, which may still change, are left out.
void Domain::sum_blocks(std::span<const std::int64_t> force) {
  const auto sizes = block_sizes(3);
  const auto own = sizes[at(comm_.rank())], before = sum_before(sizes, comm_.rank());
  blocks_.resize(force.size());
  std::copy_n(force.begin() + own, before, blocks_.begin());
  std::fill_n(blocks_.begin() + before, own, 0);
  std::copy(force.begin() + before + own, force.end(), blocks_.begin() + before + own);
  receive_forces_.front().resize(at(own));
  comm_.reduce_scatter_sum(blocks_, sizes, receive_forces_.front());
}

}  // namespace tessera::md::domain
