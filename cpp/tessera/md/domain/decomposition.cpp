#include "tessera/md/domain/decomposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tessera/base/error.h"

namespace tessera::md::domain {

int Decomposition::cut(const IndexBox& box, int first_rank, int ranks, bool& possible) {
  const int node = static_cast<int>(tree_.size());
  tree_.push_back({0, ranks, 0});
  if (ranks == 1) {
    bricks_[static_cast<std::size_t>(first_rank)] = box;
    tree_[static_cast<std::size_t>(node)].position = first_rank;  // a leaf keeps its rank here
    return node;
  }
  const int left_ranks = ranks / 2;
  std::array<int, 3> order = {0, 1, 2};
  std::stable_sort(order.begin(), order.end(), [&](int p, int q) {
    return static_cast<double>(box.extent(p)) * grid_.edge[static_cast<std::size_t>(p)] >
           static_cast<double>(box.extent(q)) * grid_.edge[static_cast<std::size_t>(q)];
  });
  for (const int d : order) {
    const std::int64_t n = box.extent(d), layer = box.size() / n;
    if (n < 2) continue;
    // The nearest cut to the ranks' proportion that leaves a cell for each rank on either side.
    const std::int64_t least = std::max<std::int64_t>(1, (left_ranks + layer - 1) / layer);
    const std::int64_t most = n - std::max<std::int64_t>(1, (ranks - left_ranks + layer - 1) / layer);
    if (least > most) continue;
    const std::int64_t wanted = (2 * n * left_ranks + ranks) / (2 * ranks);
    IndexBox left = box, right = box;
    left.upper[d] = right.lower[d] = box.lower[d] + std::clamp(wanted, least, most);
    const int left_node = cut(left, first_rank, left_ranks, possible);
    const int right_node = cut(right, first_rank + left_ranks, ranks - left_ranks, possible);
    tree_[static_cast<std::size_t>(node)] = {d, left_ranks, left.upper[d], left_node, right_node};
    return node;
  }
  possible = false;
  return node;
}

int Decomposition::owner(const Index3& cell) const {
  std::size_t node = 0;
  while (tree_[node].left >= 0) {
    const auto& cut = tree_[node];
    node =
        static_cast<std::size_t>(cell[static_cast<std::size_t>(cut.dimension)] < cut.position ? cut.left : cut.right);
  }
  return static_cast<int>(tree_[node].position);
}

std::optional<Decomposition> try_decomposition(const CellGrid& grid, int ranks) {
  if (ranks < 1 || ranks > grid.size()) return std::nullopt;
  Decomposition decomposition;
  decomposition.grid_ = grid;
  decomposition.bricks_.resize(static_cast<std::size_t>(ranks));
  bool possible = true;
  decomposition.cut({{0, 0, 0}, grid.n}, 0, ranks, possible);
  if (!possible) return std::nullopt;
  return decomposition;
}

Decomposition plan_decomposition(const CellGrid& grid, int ranks) {
  if (auto decomposition = try_decomposition(grid, ranks)) return *decomposition;
  std::string counts;
  int runs_from = 0;
  // Ranges of the counts that work, up to the number of cells (at most a few thousand are worth naming).
  const int most = static_cast<int>(std::min<std::int64_t>(grid.size(), 4096));
  for (int r = 1; r <= most + 1; ++r) {
    const bool works = r <= most && try_decomposition(grid, r).has_value();
    if (works && runs_from == 0) runs_from = r;
    if (!works && runs_from > 0) {
      counts += fmt::format("{}{}", counts.empty() ? "" : ", ", runs_from);
      if (r - 1 > runs_from) counts += fmt::format(" to {}", r - 1);
      runs_from = 0;
    }
  }
  throw InputError(fmt::format(
      "{} ranks are too many for a box of {} × {} × {} cells, of which each rank needs a brick; use {} ranks "
      "(and more threads each)",
      ranks, grid.n[0], grid.n[1], grid.n[2], counts));
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
