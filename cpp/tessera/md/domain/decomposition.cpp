#include "tessera/md/domain/decomposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::md::domain {

namespace {

/// Describes a possible cut of a brick into two parts.
struct Halving {
  int dimension = -1, left_ranks = 0;
  std::int64_t position = 0;  // cells on the left side
  double cost = 1e300;
};

/// Returns the cost of the layers of `part` along an edge of a brick.
double cost_along(const BrickCost& cost, const IndexBox& part, std::size_t d) {
  const auto first = cost.by_layer[d].begin() - cost.brick.lower[d];
  return std::accumulate(first + part.lower[d], first + part.upper[d], 0.0);
}

double total(const BrickCost& cost) { return std::accumulate(cost.by_layer[0].begin(), cost.by_layer[0].end(), 0.0); }

}  // namespace

/// Holds the costs of the bricks that overlap a box.
class CostField {
 public:
  explicit CostField(std::span<const BrickCost> costs) {
    for (const auto& cost : costs) costs_.push_back(&cost);
  }
  CostField(const CostField& all, const IndexBox& box) {
    for (const auto* cost : all.costs_)
      if (!intersection(cost->brick, box).is_empty()) costs_.push_back(cost);
  }

  /// Returns the cost of each layer of a box along an edge.
  std::vector<double> by_layer(const IndexBox& box, std::size_t d) const {
    std::vector<double> layers(static_cast<std::size_t>(box.upper[d] - box.lower[d]), 0);
    for (const auto* cost : costs_) {
      const auto part = intersection(cost->brick, box);
      const double all = total(*cost);
      if (part.is_empty() || all == 0) continue;
      const double share = cost_along(*cost, part, (d + 1) % 3) / all * (cost_along(*cost, part, (d + 2) % 3) / all);
      for (auto layer = part.lower[d]; layer < part.upper[d]; ++layer)
        layers[static_cast<std::size_t>(layer - box.lower[d])] +=
            share * cost->by_layer[d][static_cast<std::size_t>(layer - cost->brick.lower[d])];
    }
    return layers;
  }

 private:
  std::vector<const BrickCost*> costs_;
};

namespace {

/// Returns the numbers of ranks to the left of each joint of the highest network level in a range of the line.
std::vector<std::int64_t> joints(std::span<const int> level) {
  const int highest = *std::max_element(level.begin() + 1, level.end());
  std::vector<std::int64_t> places;
  for (std::size_t i = 1; i < level.size(); ++i)
    if (level[i] == highest) places.push_back(static_cast<std::int64_t>(i));
  return places;
}

/// Chooses the cut that makes the cost per rank most equal, preferring the middle of a long edge and a joint of the
/// network. `level` belongs to the ranks of the box. A cut exists for 1 < ranks ≤ cells.
Halving choose_halving(const CellGrid& grid, const IndexBox& box, std::span<const int> level, const CostField& costs) {
  const auto ranks = static_cast<std::int64_t>(level.size());
  const auto joint = joints(level);
  double longest = 0;
  for (int d = 0; d < 3; ++d)
    longest = std::max(longest, static_cast<double>(box.extent(d)) * grid.width[static_cast<std::size_t>(d)]);
  Halving best;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t n = box.extent(d), layer = box.size() / n;
    const double length = static_cast<double>(n) * grid.width[static_cast<std::size_t>(d)];
    const auto by_layer = costs.by_layer(box, static_cast<std::size_t>(d));
    const double all = std::accumulate(by_layer.begin(), by_layer.end(), 0.0);
    double left = 0;
    for (std::int64_t position = 1; position < n; ++position) {
      left += by_layer[static_cast<std::size_t>(position - 1)];
      const double share = all > 0 ? left / all : static_cast<double>(position) / static_cast<double>(n);
      // Ranks are shared in proportion to costs, but neither side gets more ranks than cells.
      const auto fewest = std::max<std::int64_t>(1, ranks - (n - position) * layer),
                 most = std::min<std::int64_t>(position * layer, ranks - 1),
                 fair = std::clamp<std::int64_t>(std::llround(static_cast<double>(ranks) * share), fewest, most);
      const double off_centre = std::abs(2 * share - 1);
      const auto consider = [&](std::int64_t left_ranks) {
        if (left_ranks < fewest || left_ranks > most) return;
        const double load =
            std::max(share / static_cast<double>(left_ranks), (1 - share) / static_cast<double>(ranks - left_ranks));
        const bool is_joint = std::binary_search(joint.begin(), joint.end(), left_ranks);
        const double cost =
            load * (1 + 0.25 * off_centre) * (1 + 0.25 * (1 - length / longest)) * (is_joint ? 1 : 1.25);
        // The first of equal cuts is taken, and rounding in the last digit does not count as a difference.
        if (cost < best.cost * (1 - 1e-9)) best = {d, static_cast<int>(left_ranks), position, cost};
      };
      consider(fair);
      const auto after = std::lower_bound(joint.begin(), joint.end(), fair);
      if (after != joint.end()) consider(*after);
      if (after != joint.begin()) consider(*(after - 1));
    }
  }
  return best;
}

}  // namespace

int Decomposition::cut(const IndexBox& box, int first_place, int ranks, const CostField& costs) {
  const int node = static_cast<int>(tree_.size());
  tree_.emplace_back();
  const auto first = static_cast<std::size_t>(first_place);
  if (ranks == 1) {
    const int rank = line_.rank[first];
    bricks_[static_cast<std::size_t>(rank)] = box;
    tree_[static_cast<std::size_t>(node)].rank = rank;
    return node;
  }
  const CostField here(costs, box);
  const auto halving =
      choose_halving(grid_, box, std::span(line_.level).subspan(first, static_cast<std::size_t>(ranks)), here);
  const auto d = static_cast<std::size_t>(halving.dimension);
  IndexBox left = box, right = box;
  left.upper[d] = right.lower[d] = box.lower[d] + halving.position;
  const int left_node = cut(left, first_place, halving.left_ranks, here);
  const int right_node = cut(right, first_place + halving.left_ranks, ranks - halving.left_ranks, here);
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

Decomposition plan_decomposition(const CellGrid& grid, const comm::RankLine& line, std::span<const BrickCost> costs) {
  const int ranks = line.size();
  if (ranks < 1 || ranks > grid.size())
    throw InputError(fmt::format(
        "{} ranks are too many for a box of {} × {} × {} cells, of which each rank needs at least one; use 1 "
        "to {} ranks (and more threads each)",
        ranks, grid.n[0], grid.n[1], grid.n[2], grid.size()));
  Decomposition decomposition;
  decomposition.grid_ = grid;
  decomposition.line_ = line;
  decomposition.host_of_rank_ = line.host_of_rank();
  decomposition.bricks_.resize(static_cast<std::size_t>(ranks));
  decomposition.cut({{0, 0, 0}, grid.n}, 0, ranks, CostField(costs));
  return decomposition;
}

Decomposition plan_decomposition(const CellGrid& of_atoms, const comm::RankLine& line) {
  const auto grid = of_atoms.is_periodic ? of_atoms : with_cells(of_atoms, line.size());
  BrickCost alike{{{0, 0, 0}, grid.n}, {}};
  for (std::size_t d = 0; d < 3; ++d)
    alike.by_layer[d].assign(static_cast<std::size_t>(grid.n[d]),
                             static_cast<double>(grid.size()) / static_cast<double>(grid.n[d]));
  return plan_decomposition(grid, line, std::span(&alike, 1));
}

Decomposition plan_decomposition(const CellGrid& grid, int ranks) {
  return plan_decomposition(grid, comm::RankLine::as_numbered(ranks));
}

double cost_of(const IndexBox& box, std::span<const BrickCost> costs) {
  double sum = 0;
  for (const auto& cost : costs) {
    const auto part = intersection(cost.brick, box);
    const double all = total(cost);
    if (!part.is_empty() && all > 0)
      sum += cost_along(cost, part, 0) * (cost_along(cost, part, 1) / all) * (cost_along(cost, part, 2) / all);
  }
  return sum;
}

namespace {

/// Calls function(cell) for every cell of the brick grown by one layer, wrapped; some cells may be visited twice.
template <class Function>
void for_grown(const CellGrid& grid, const IndexBox& brick, Function&& function) {
  // A brick that spans the grid has no halo layer along that edge, and wrapping around more than once adds no cells.
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

/// Sorts peers: those of other hosts first, each kind from the rank's own number on.
template <class Peer>
void put_in_turn(std::vector<Peer>& peers, const Decomposition& decomposition, int rank) {
  const auto& host = decomposition.host_of_rank();
  const auto turn = [&](const Peer& peer) {
    const bool is_near = host[static_cast<std::size_t>(peer.rank)] == host[static_cast<std::size_t>(rank)];
    return std::pair(is_near, (peer.rank - rank + decomposition.ranks()) % decomposition.ranks());
  };
  std::sort(peers.begin(), peers.end(), [&](const auto& a, const auto& b) { return turn(a) < turn(b); });
}

}  // namespace

HaloPlan plan_halo(const Decomposition& decomposition, int rank) {
  const auto& grid = decomposition.grid();
  TESSERA_CHECK(grid.is_periodic);
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
    // Adjacency is mutual, so each owner of our halo also needs some of our cells.
    std::set<std::int64_t> wanted;
    for_grown(grid, decomposition.brick(peer), [&](const Index3& cell) {
      if (mine.contains(cell)) wanted.insert(grid.flat(cell));
    });
    for (const auto flat : wanted) entry.send.push_back(grid.unflat(flat));
  }
  put_in_turn(plan.peers, decomposition, rank);
  return plan;
}

IndexBox with_halo(const CellGrid& grid, const IndexBox& brick) {
  IndexBox grown = brick;
  for (std::size_t d = 0; d < 3; ++d) --grown.lower[d], ++grown.upper[d];
  return intersection(grown, {{0, 0, 0}, grid.n});
}

std::vector<HaloPeer> find_halo_peers(const Decomposition& decomposition, int rank) {
  std::vector<HaloPeer> peers;
  if (decomposition.is_replicated()) {
    for (int peer = 0; peer < decomposition.ranks(); ++peer)
      if (peer != rank) peers.push_back({peer, decomposition.brick(rank).size(), decomposition.brick(peer).size()});
    put_in_turn(peers, decomposition, rank);
    return peers;
  }
  if (decomposition.grid().is_periodic) {
    for (const auto& peer : plan_halo(decomposition, rank).peers)
      peers.push_back({peer.rank, std::ssize(peer.send), std::ssize(peer.receive)});
    return peers;
  }
  const auto& brick = decomposition.brick(rank);
  const auto halo = with_halo(decomposition.grid(), brick);
  for (int peer = 0; peer < decomposition.ranks(); ++peer) {
    const auto& its = decomposition.brick(peer);
    if (const auto needed = intersection(halo, its).size(); peer != rank && needed > 0)
      peers.push_back({peer, intersection(with_halo(decomposition.grid(), its), brick).size(), needed});
  }
  put_in_turn(peers, decomposition, rank);
  return peers;
}

std::int64_t n_halo_cells(const Decomposition& decomposition, int rank) {
  const auto& grid = decomposition.grid();
  const auto& brick = decomposition.brick(rank);
  if (decomposition.is_replicated()) return grid.size() - brick.size();
  std::int64_t with_halo = 1;
  for (int d = 0; d < 3; ++d) with_halo *= std::min(brick.extent(d) + 2, grid.n[static_cast<std::size_t>(d)]);
  return brick.is_empty() ? 0 : with_halo - brick.size();
}

HaloCells count_halo(const Decomposition& decomposition, int rank, const std::vector<int>& host_of_rank) {
  HaloCells count;
  for (const auto& peer : find_halo_peers(decomposition, rank)) {
    const bool is_other =
        host_of_rank[static_cast<std::size_t>(peer.rank)] != host_of_rank[static_cast<std::size_t>(rank)];
    count.all += peer.receive;
    count.from_other_hosts += is_other ? peer.receive : 0;
  }
  return count;
}

}  // namespace tessera::md::domain
