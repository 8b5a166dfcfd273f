#include "tessera/md/domain/decomposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tessera/base/error.h"

namespace tessera::md::domain {

namespace {

/// One way to halve a brick.
struct Halving {
  int dimension = -1, left_ranks = 0;
  std::int64_t position = 0;  // cells to the left
  double cost = 1e300;
};

/// The cut that leaves the ranks most alike in cells, near the middle of a long edge. There is always one for
/// 1 < ranks ≤ cells.
Halving choose_halving(const CellGrid& grid, const IndexBox& box, int ranks) {
  double longest = 0;
  for (int d = 0; d < 3; ++d)
    longest = std::max(longest, static_cast<double>(box.extent(d)) * grid.edge[static_cast<std::size_t>(d)]);
  Halving best;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t n = box.extent(d), layer = box.size() / n;
    const double length = static_cast<double>(n) * grid.edge[static_cast<std::size_t>(d)];
    for (std::int64_t position = 1; position < n; ++position) {
      const std::int64_t left = position * layer, right = (n - position) * layer;
      // Ranks in proportion to cells, but never more ranks than cells on either side.
      const std::int64_t left_ranks =
          std::clamp<std::int64_t>((2 * ranks * position + n) / (2 * n), std::max<std::int64_t>(1, ranks - right),
                                   std::min<std::int64_t>(left, ranks - 1));
      const double load = std::max(static_cast<double>(left) / static_cast<double>(left_ranks),
                                   static_cast<double>(right) / static_cast<double>(ranks - left_ranks));
      const double off_centre = std::abs(2.0 * static_cast<double>(position) / static_cast<double>(n) - 1);
      const double cost = load * (1 + 0.25 * off_centre) * (1 + 0.25 * (1 - length / longest));
      if (cost < best.cost) best = {d, static_cast<int>(left_ranks), position, cost};
    }
  }
  return best;
}

}  // namespace

int Decomposition::cut(const IndexBox& box, int first_rank, int ranks) {
  const int node = static_cast<int>(tree_.size());
  tree_.emplace_back();
  if (ranks == 1) {
    bricks_[static_cast<std::size_t>(first_rank)] = box;
    tree_[static_cast<std::size_t>(node)].rank = first_rank;
    return node;
  }
  const auto halving = choose_halving(grid_, box, ranks);
  const auto d = static_cast<std::size_t>(halving.dimension);
  IndexBox left = box, right = box;
  left.upper[d] = right.lower[d] = box.lower[d] + halving.position;
  const int left_node = cut(left, first_rank, halving.left_ranks);
  const int right_node = cut(right, first_rank + halving.left_ranks, ranks - halving.left_ranks);
  tree_[static_cast<std::size_t>(node)] = {halving.dimension, left.upper[d], left_node, right_node, -1};
  return node;
}

int Decomposition::owner(const Index3& cell) const {
  std::size_t node = 0;
  while (tree_[node].rank < 0) {
    const auto& cut = tree_[node];
    node =
        static_cast<std::size_t>(cell[static_cast<std::size_t>(cut.dimension)] < cut.position ? cut.left : cut.right);
  }
  return tree_[node].rank;
}

Decomposition plan_decomposition(const CellGrid& grid, int ranks) {
  if (ranks < 1 || ranks > grid.size())
    throw InputError(fmt::format(
        "{} ranks are too many for a box of {} × {} × {} cells, of which each rank needs at least one; use 1 "
        "to {} ranks (and more threads each)",
        ranks, grid.n[0], grid.n[1], grid.n[2], grid.size()));
  Decomposition decomposition;
  decomposition.grid_ = grid;
  decomposition.bricks_.resize(static_cast<std::size_t>(ranks));
  decomposition.cut({{0, 0, 0}, grid.n}, 0, ranks);
  return decomposition;
}

namespace {

/// Calls function(cell) for every cell of the brick grown by one layer, wrapped; some cells may come twice.
template <class Function>
void for_grown(const CellGrid& grid, const IndexBox& brick, Function&& function) {
  // A brick that spans the grid has no layer along that edge; going round more than once adds nothing.
  IndexBox grown = brick;
  for (int d = 0; d < 3; ++d) {
    if (brick.extent(d) == grid.n[d]) continue;
    --grown.lower[d];
    ++grown.upper[d];
  }
  for (std::int64_t x = grown.lower[0]; x < grown.upper[0]; ++x)
    for (std::int64_t y = grown.lower[1]; y < grown.upper[1]; ++y)
      for (std::int64_t z = grown.lower[2]; z < grown.upper[2]; ++z) function(grid.wrapped({x, y, z}));
}

}  // namespace

HaloPlan plan_halo(const Decomposition& decomposition, int rank) {
  const auto& grid = decomposition.grid();
  const auto& mine = decomposition.brick(rank);
  std::map<int, std::set<std::int64_t>> needed;
  for_grown(grid, mine, [&](const Index3& cell) {
    if (!mine.contains(cell)) needed[decomposition.owner(cell)].insert(grid.flat(cell));
  });
  HaloPlan plan;
  for (const auto& [peer, cells] : needed) {
    auto& entry = plan.peers.emplace_back();
    entry.rank = peer;
    for (const auto flat : cells) entry.receive.push_back(grid.unflat(flat));
    // Adjacency is mutual, so who owns our halo also needs some of our cells.
    std::set<std::int64_t> wanted;
    for_grown(grid, decomposition.brick(peer), [&](const Index3& cell) {
      if (mine.contains(cell)) wanted.insert(grid.flat(cell));
    });
    for (const auto flat : wanted) entry.send.push_back(grid.unflat(flat));
  }
  return plan;
}

}  // namespace tessera::md::domain
