#include "tessera/md/domain/decomposition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::md::domain {
namespace {

CellGrid grid_of(Index3 n, std::array<double, 3> edge = {8, 8, 8}) { return {n, edge}; }

const std::vector<CellGrid> grids = {
    grid_of({2, 2, 2}),
    grid_of({3, 3, 3}),
    grid_of({4, 4, 4}),
    grid_of({5, 4, 3}),
    grid_of({7, 7, 7}),
    grid_of({9, 9, 9}),
    grid_of({13, 13, 9}),
    grid_of({16, 16, 16}),
    grid_of({2, 2, 200}),
    grid_of({31, 7, 11}),
    grid_of({8, 8, 8}, {8, 9, 15.9}),
    grid_of({64, 3, 2}),
};

/// Returns the largest number of cells over the mean, as ranks wait for the largest.
double imbalance(const Decomposition& plan) {
  std::int64_t largest = 0;
  for (const auto& brick : plan.bricks()) largest = std::max(largest, brick.size());
  return static_cast<double>(largest) * plan.ranks() / static_cast<double>(plan.grid().size());
}

TEST(Decomposition, BricksAreDisjointAndCoverTheGridForAnyRanks) {
  for (const auto& grid : grids) {
    for (int ranks = 1; ranks <= 64; ++ranks) {
      if (ranks > grid.size()) continue;
      const auto plan = plan_decomposition(grid, ranks);
      ASSERT_EQ(plan.ranks(), ranks);
      std::vector<int> owner(static_cast<std::size_t>(grid.size()), -1);
      for (int rank = 0; rank < ranks; ++rank) {
        const auto& brick = plan.brick(rank);
        ASSERT_FALSE(brick.is_empty());
        for (auto x = brick.lower[0]; x < brick.upper[0]; ++x)
          for (auto y = brick.lower[1]; y < brick.upper[1]; ++y)
            for (auto z = brick.lower[2]; z < brick.upper[2]; ++z) {
              auto& cell = owner.at(static_cast<std::size_t>(grid.flat({x, y, z})));
              ASSERT_EQ(cell, -1) << "two bricks hold a cell";
              cell = rank;
              ASSERT_EQ(plan.owner({x, y, z}), rank);
            }
      }
      ASSERT_EQ(std::count(owner.begin(), owner.end(), -1), 0) << "a cell is in no brick";
    }
  }
}

/// Returns costs as the ranks of a decomposition would measure them.
template <class CostOfCell>
std::vector<BrickCost> measure(const Decomposition& plan, CostOfCell&& cost_of_cell) {
  std::vector<BrickCost> costs;
  for (const auto& brick : plan.bricks()) {
    auto& cost = costs.emplace_back();
    cost.brick = brick;
    for (int d = 0; d < 3; ++d)
      cost.by_layer[static_cast<std::size_t>(d)].assign(static_cast<std::size_t>(brick.extent(d)), 0);
    for (auto x = brick.lower[0]; x < brick.upper[0]; ++x)
      for (auto y = brick.lower[1]; y < brick.upper[1]; ++y)
        for (auto z = brick.lower[2]; z < brick.upper[2]; ++z) {
          const Index3 cell{x, y, z};
          for (std::size_t d = 0; d < 3; ++d)
            cost.by_layer[d][static_cast<std::size_t>(cell[d] - brick.lower[d])] += cost_of_cell(cell);
        }
  }
  return costs;
}

/// Returns the greatest cost of a rank over the mean.
double imbalance(const std::vector<BrickCost>& costs) {
  double all = 0, most = 0;
  for (const auto& cost : costs) {
    const double of_rank = std::accumulate(cost.by_layer[0].begin(), cost.by_layer[0].end(), 0.0);
    all += of_rank;
    most = std::max(most, of_rank);
  }
  return most * static_cast<double>(costs.size()) / all;
}

TEST(Decomposition, FollowsMeasuredCosts) {
  const auto grid = grid_of({16, 12, 12});
  const auto half_empty = [](const Index3& cell) { return cell[0] < 8 ? 1.0 : 0.01; };
  const auto droplet = [](const Index3& cell) {
    double distance2 = 0;
    for (const auto& [x, centre] : {std::pair(cell[0], 4.5), {cell[1], 5.5}, {cell[2], 4.5}})
      distance2 += (static_cast<double>(x) - centre) * (static_cast<double>(x) - centre);
    return distance2 < 25 ? 1.0 : 0.01;
  };
  const auto check = [&](auto&& cost_of_cell, double at_most) {
    for (const int ranks : {2, 3, 4, 6, 8, 12, 31}) {
      auto plan = plan_decomposition(grid, ranks);
      auto costs = measure(plan, cost_of_cell);
      const double before = imbalance(costs);
      for (int times = 0; times < 3; ++times) {
        plan = plan_decomposition(grid, plan.line(), costs);
        costs = measure(plan, cost_of_cell);
      }
      EXPECT_LT(imbalance(costs), std::max(at_most, 0.75 * before)) << ranks << " ranks, before " << before;
      EXPECT_LT(imbalance(costs), before) << ranks;
      double sum = 0;
      for (const auto& brick : plan.bricks()) sum += cost_of(brick, costs);
      EXPECT_NEAR(sum, cost_of({{0, 0, 0}, grid.n}, costs), 1e-9 * sum);
    }
  };
  check(half_empty, 1.1);
  check(droplet, 1.25);
}

TEST(Decomposition, EvenCostsAreNoCosts) {
  for (const auto& grid : grids)
    for (const int ranks : {2, 3, 5, 8}) {
      const auto plan = plan_decomposition(grid, ranks);
      const auto costs = measure(plan, [](const Index3&) { return 1.0; });
      EXPECT_EQ(plan_decomposition(grid, plan.line(), costs).bricks(), plan.bricks());
    }
}

TEST(Decomposition, EveryRankCountUpToTheNumberOfCellsStarts) {
  for (const auto& grid : {grid_of({3, 3, 3}), grid_of({5, 4, 3}), grid_of({7, 7, 7}), grid_of({9, 9, 9}),
                           grid_of({13, 13, 9}), grid_of({31, 7, 11}), grid_of({64, 3, 2})})
    for (int ranks = 1; ranks <= grid.size(); ++ranks) {
      const auto plan = plan_decomposition(grid, ranks);
      for (const auto& brick : plan.bricks())
        ASSERT_FALSE(brick.is_empty()) << ranks << " ranks on " << grid.n[0] << " × " << grid.n[1] << " × "
                                       << grid.n[2];
    }
}

// Cuts lie between cells, so the loads differ by about a layer of cells, which matters less the more cells a rank has.
TEST(Decomposition, LoadsAreBalanced) {
  for (const auto& grid : grids)
    for (int ranks = 1; ranks <= 64; ++ranks) {
      if (ranks > grid.size()) continue;
      const auto plan = plan_decomposition(grid, ranks);
      const double cells_a_rank = static_cast<double>(grid.size()) / ranks;
      const double bound = cells_a_rank >= 27 ? 1.9 : cells_a_rank >= 8 ? 2.4 : 4.0;
      EXPECT_LE(imbalance(plan), bound) << ranks << " ranks on " << grid.n[0] << " × " << grid.n[1] << " × "
                                        << grid.n[2];
    }
  // Powers of two divide the grid exactly.
  for (const int ranks : {1, 2, 4, 8, 16, 32, 64, 512, 4096})
    EXPECT_EQ(imbalance(plan_decomposition(grid_of({16, 16, 16}), ranks)), 1.0);
}

/// Returns a line with these numbers of ranks on each host, the hosts listed by subnet, and ranks numbered round robin
/// over hosts.
comm::RankLine scattered(const std::vector<std::vector<int>>& subnets) {
  std::vector<std::vector<int>> ranks;
  std::vector<int> left;
  for (const auto& hosts : subnets) left.insert(left.end(), hosts.begin(), hosts.end());
  ranks.resize(left.size());
  for (int rank = 0, placed = 1; placed > 0;) {
    placed = 0;
    for (std::size_t host = 0; host < left.size(); ++host)
      if (left[host] > 0) ranks[host].push_back(rank++), --left[host], ++placed;
  }
  comm::RankLine line;
  std::size_t host = 0;
  for (const auto& hosts : subnets) {
    int level = 2;
    for (std::size_t i = 0; i < hosts.size(); ++i, ++host, level = 1)
      for (const int rank : ranks[host]) {
        line.rank.push_back(rank);
        line.level.push_back(std::exchange(level, 0));
      }
  }
  line.level[0] = 0;
  return line;
}

/// Returns the total number of halo cells that come from other hosts.
std::int64_t between_hosts(const Decomposition& plan, const std::vector<int>& host) {
  std::int64_t cells = 0;
  for (int rank = 0; rank < plan.ranks(); ++rank)
    for (const auto& peer : plan_halo(plan, rank).peers)
      if (host[static_cast<std::size_t>(peer.rank)] != host[static_cast<std::size_t>(rank)])
        cells += static_cast<std::int64_t>(peer.receive.size());
  return cells;
}

TEST(Decomposition, NeighboursStandOnOneHost) {
  std::int64_t along = 0, without_joints = 0, numbered = 0;
  for (const auto& hosts : std::vector<std::vector<std::vector<int>>>{{{4, 4}},
                                                                      {{4, 4, 4}},
                                                                      {{3, 5}},
                                                                      {{2, 2}, {2, 2}},
                                                                      {{6, 6, 6}, {6, 6, 6}},
                                                                      {{4, 4, 4}, {8}},
                                                                      {{16, 16, 16, 16, 16}}}) {
    const auto line = scattered(hosts);
    auto plain = line;
    std::fill(plain.level.begin(), plain.level.end(), 0);
    const auto host = line.host_of_rank();
    for (const auto& grid : {grid_of({12, 12, 12}), grid_of({16, 9, 10}), grid_of({16, 16, 16})}) {
      const auto plan = plan_decomposition(grid, line);
      EXPECT_EQ(plan.host_of_rank(), host);
      EXPECT_LE(imbalance(plan), 1.25);
      EXPECT_LE(between_hosts(plan, host),
                1.1 * static_cast<double>(between_hosts(plan_decomposition(grid, line.size()), host)));
      along += between_hosts(plan, host);
      without_joints += between_hosts(plan_decomposition(grid, plain), host);
      numbered += between_hosts(plan_decomposition(grid, line.size()), host);
    }
  }
  EXPECT_LT(static_cast<double>(along), 0.75 * static_cast<double>(numbered));
  EXPECT_LT(static_cast<double>(along), 0.93 * static_cast<double>(without_joints));
}

TEST(Decomposition, AHostsRanksHoldOneBrick) {
  const auto line = scattered({{4, 4}, {4, 4}});
  const auto plan = plan_decomposition(grid_of({16, 16, 16}), line);
  for (std::size_t first = 0; first < 16; first += 4) {
    IndexBox hull = plan.brick(line.rank[first]);
    std::int64_t cells = 0;
    for (std::size_t place = first; place < first + 4; ++place) {
      const auto& brick = plan.brick(line.rank[place]);
      cells += brick.size();
      for (std::size_t d = 0; d < 3; ++d) {
        hull.lower[d] = std::min(hull.lower[d], brick.lower[d]);
        hull.upper[d] = std::max(hull.upper[d], brick.upper[d]);
      }
    }
    EXPECT_EQ(hull.size(), cells);
  }
}

TEST(Decomposition, CellsMoveAlongTheLine) {
  const auto line = scattered({{4, 4}, {4, 4}});
  const auto first = plan_decomposition(grid_of({16, 12, 12}), line);
  const auto moved = plan_decomposition(first.grid(), first.line(),
                                        measure(first, [](const Index3& cell) { return cell[0] < 8 ? 1.0 : 0.01; }));
  EXPECT_EQ(moved.line().rank, line.rank);
  EXPECT_NE(moved.bricks(), first.bricks());
}

TEST(PlanHalo, OtherHostsComeFirst) {
  const auto line = scattered({{4, 4}, {4, 4}});
  const auto plan = plan_decomposition(grid_of({16, 16, 16}), line);
  const auto& host = plan.host_of_rank();
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    std::int64_t all = 0, from_others = 0;
    bool was_near = false;
    for (const auto& peer : plan_halo(plan, rank).peers) {
      const bool is_near = host[static_cast<std::size_t>(peer.rank)] == host[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(is_near || !was_near);
      was_near = is_near;
      all += static_cast<std::int64_t>(peer.receive.size());
      from_others += is_near ? 0 : static_cast<std::int64_t>(peer.receive.size());
    }
    EXPECT_TRUE(was_near);
    const auto counted = count_halo(plan, rank, host);
    EXPECT_EQ(counted.all, all);
    EXPECT_EQ(n_halo_cells(plan, rank), all);
    EXPECT_EQ(counted.from_other_hosts, from_others);
  }
}

TEST(Decomposition, CutsTheLongestEdgeInLength) {
  const auto plan = plan_decomposition(grid_of({8, 8, 8}, {8, 9, 15}), 2);
  EXPECT_EQ(plan.brick(0), (IndexBox{{0, 0, 0}, {8, 8, 4}}));
  EXPECT_EQ(plan.brick(1), (IndexBox{{0, 0, 4}, {8, 8, 8}}));
}

TEST(Decomposition, OneCellARank) {
  for (const auto& n : {Index3{2, 2, 2}, Index3{4, 4, 4}, Index3{2, 4, 8}}) {
    const auto grid = grid_of(n);
    const auto plan = plan_decomposition(grid, static_cast<int>(grid.size()));
    for (int rank = 0; rank < plan.ranks(); ++rank) {
      EXPECT_EQ(plan.brick(rank).size(), 1);
      EXPECT_EQ(n_halo_cells(plan, rank), count_halo(plan, rank, plan.host_of_rank()).all);
    }
  }
}

TEST(Decomposition, TooManyRanksAreRefusedWithTheCountsThatWork) {
  const auto grid = grid_of({3, 3, 3});
  EXPECT_THROW(plan_decomposition(grid, 0), InputError);
  try {
    plan_decomposition(grid, 28);
    FAIL() << "nothing thrown";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("28 ranks"), std::string::npos) << text;
    EXPECT_NE(text.find("3 × 3 × 3"), std::string::npos) << text;
    EXPECT_NE(text.find("use 1 to 27 ranks"), std::string::npos) << text;
  }
}

TEST(Decomposition, PlansLargeMachines) {
  const auto plan = plan_decomposition(grid_of({128, 128, 128}), 65536);
  std::int64_t cells = 0;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    cells += plan.brick(rank).size();
    ASSERT_EQ(plan.owner(plan.brick(rank).lower), rank);
  }
  EXPECT_EQ(cells, 128 * 128 * 128);
  EXPECT_EQ(imbalance(plan), 1.0);
  for (int rank = 0; rank < plan.ranks(); rank += 997) EXPECT_EQ(plan_halo(plan, rank).peers.size(), 26u);
  const auto uneven = plan_decomposition(grid_of({127, 125, 129}), 60001);
  EXPECT_LE(imbalance(uneven), 2.0);
}

/// Returns the wrapped layer of cells around a brick, by definition.
std::set<std::int64_t> layer_around(const CellGrid& grid, const IndexBox& brick) {
  std::set<std::int64_t> layer;
  for (std::int64_t i = 0; i < brick.size(); ++i) {
    const Index3 c = {brick.lower[0] + i / (brick.extent(1) * brick.extent(2)),
                      brick.lower[1] + i / brick.extent(2) % brick.extent(1), brick.lower[2] + i % brick.extent(2)};
    for (int dx = -1; dx <= 1; ++dx)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dz = -1; dz <= 1; ++dz) {
          const auto near = grid.wrapped({c[0] + dx, c[1] + dy, c[2] + dz});
          if (!brick.contains(near)) layer.insert(grid.flat(near));
        }
  }
  return layer;
}

TEST(PlanHalo, IsTheWrappedLayerAndBothSidesAgree) {
  for (const auto& grid : {grid_of({2, 2, 2}), grid_of({3, 3, 3}), grid_of({4, 4, 4}), grid_of({7, 7, 7}),
                           grid_of({5, 4, 3}), grid_of({2, 2, 20})})
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 27, 40}) {
      if (ranks > grid.size()) continue;
      const auto plan = plan_decomposition(grid, ranks);
      std::vector<HaloPlan> halo;
      for (int rank = 0; rank < ranks; ++rank) halo.push_back(plan_halo(plan, rank));
      for (int rank = 0; rank < ranks; ++rank) {
        std::set<std::int64_t> received;
        int last_turn = 0;
        for (const auto& peer : halo[static_cast<std::size_t>(rank)].peers) {
          const int turn = (peer.rank - rank + ranks) % ranks;
          ASSERT_GT(turn, last_turn) << "each rank begins with another peer";
          last_turn = turn;
          for (const auto& cell : peer.receive) {
            ASSERT_EQ(plan.owner(cell), peer.rank);
            ASSERT_TRUE(received.insert(grid.flat(cell)).second) << "received twice";
          }
          const auto& theirs = halo[static_cast<std::size_t>(peer.rank)].peers;
          const auto mirror =
              std::find_if(theirs.begin(), theirs.end(), [&](const auto& other) { return other.rank == rank; });
          ASSERT_NE(mirror, theirs.end());
          ASSERT_EQ(peer.send, mirror->receive);
          ASSERT_FALSE(peer.send.empty());
          ASSERT_TRUE(std::is_sorted(peer.send.begin(), peer.send.end(),
                                     [&](const auto& p, const auto& q) { return grid.flat(p) < grid.flat(q); }));
        }
        ASSERT_EQ(received, layer_around(grid, plan.brick(rank))) << "rank " << rank << " of " << ranks;
      }
    }
}

// Also where there are fewer atoms than ranks; neighbours agree on what they exchange.
TEST(Decomposition, AVacuumHasACellForEachRank) {
  const auto grid = plan_vacuum_grid(orthorhombic(400, 400, 400), {.list_range = 12}, {0, 0, 0}, {0, 0, 0});
  for (const int ranks : {1, 2, 3, 5, 27, 28, 100, 500}) {
    const auto plan = plan_decomposition(grid, ranks);
    EXPECT_TRUE(plan.grid().contains(grid));
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_GE(plan.brick(rank).size(), 1);
      std::int64_t halo = 0;
      for (const auto& peer : find_halo_peers(plan, rank)) {
        halo += peer.receive;
        const auto back = find_halo_peers(plan, peer.rank);
        const auto found = std::find_if(back.begin(), back.end(), [&](const auto& p) { return p.rank == rank; });
        ASSERT_NE(found, back.end());
        EXPECT_EQ(found->send, peer.receive);
        EXPECT_EQ(found->receive, peer.send);
      }
      EXPECT_EQ(halo, with_halo(plan.grid(), plan.brick(rank)).size() - plan.brick(rank).size());
    }
  }
}

}  // namespace
}  // namespace tessera::md::domain
