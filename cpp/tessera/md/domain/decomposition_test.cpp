#include "tessera/md/domain/decomposition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

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

/// Largest over mean number of cells: what a rank waits for.
double imbalance(const Decomposition& plan) {
  std::int64_t largest = 0;
  for (const auto& brick : plan.bricks()) largest = std::max(largest, brick.size());
  return static_cast<double>(largest) * plan.ranks() / static_cast<double>(plan.grid().size());
}

TEST(Decomposition, BricksAreDisjointAndCoverTheGridForAnyRanks) {
  for (const auto& grid : grids) {
    int planned = 0;
    for (int ranks = 1; ranks <= 64; ++ranks) {
      const auto plan = try_decomposition(grid, ranks);
      if (!plan) {
        EXPECT_TRUE(ranks > grid.size() || ranks > grid.size() / 8) << ranks << " ranks, " << grid.size() << " cells";
        continue;
      }
      ++planned;
      ASSERT_EQ(plan->ranks(), ranks);
      std::vector<int> owner(static_cast<std::size_t>(grid.size()), -1);
      for (int rank = 0; rank < ranks; ++rank) {
        const auto& brick = plan->brick(rank);
        ASSERT_FALSE(brick.is_empty());
        for (auto x = brick.lower[0]; x < brick.upper[0]; ++x)
          for (auto y = brick.lower[1]; y < brick.upper[1]; ++y)
            for (auto z = brick.lower[2]; z < brick.upper[2]; ++z) {
              auto& cell = owner.at(static_cast<std::size_t>(grid.flat({x, y, z})));
              ASSERT_EQ(cell, -1) << "two bricks hold a cell";
              cell = rank;
              ASSERT_EQ(plan->owner({x, y, z}), rank);
            }
      }
      ASSERT_EQ(std::count(owner.begin(), owner.end(), -1), 0) << "a cell is in no brick";
    }
    EXPECT_GT(planned, 0);
  }
}

TEST(Decomposition, EveryRankCountUpToAnEighthOfTheCellsStarts) {
  for (const auto& grid : grids)
    for (int ranks = 1; ranks <= std::max<std::int64_t>(1, grid.size() / 8); ++ranks)
      ASSERT_TRUE(try_decomposition(grid, ranks).has_value())
          << ranks << " ranks on " << grid.n[0] << " × " << grid.n[1] << " × " << grid.n[2];
}

// Near one cell a rank the cuts give way, so that each side keeps a cell for each of its ranks.
TEST(Decomposition, NearlyAsManyRanksAsCellsStart) {
  for (int ranks = 1; ranks <= 52; ++ranks) EXPECT_TRUE(try_decomposition(grid_of({5, 4, 3}), ranks)) << ranks;
  for (int ranks = 1; ranks <= 64; ++ranks) EXPECT_TRUE(try_decomposition(grid_of({4, 4, 4}), ranks)) << ranks;
  for (int ranks = 1; ranks <= 585; ++ranks) EXPECT_TRUE(try_decomposition(grid_of({9, 9, 9}), ranks)) << ranks;
}

// Cutting planes lie between cells, so the loads differ by what a layer of cells is; the more cells a rank has, the
// less.
TEST(Decomposition, LoadsAreBalanced) {
  for (const auto& grid : grids)
    for (int ranks = 1; ranks <= 64; ++ranks) {
      const auto plan = try_decomposition(grid, ranks);
      if (!plan) continue;
      const double cells_a_rank = static_cast<double>(grid.size()) / ranks;
      const double bound = cells_a_rank >= 27 ? 1.9 : cells_a_rank >= 8 ? 2.4 : 4.0;
      EXPECT_LE(imbalance(*plan), bound) << ranks << " ranks on " << grid.n[0] << " × " << grid.n[1] << " × "
                                         << grid.n[2];
    }
  // Powers of two on a divisible grid are exact.
  for (const int ranks : {1, 2, 4, 8, 16, 32, 64, 512, 4096})
    EXPECT_EQ(imbalance(*try_decomposition(grid_of({16, 16, 16}), ranks)), 1.0);
}

TEST(Decomposition, CutsTheLongestEdgeInLength) {
  const auto plan = *try_decomposition(grid_of({8, 8, 8}, {8, 9, 15}), 2);
  EXPECT_EQ(plan.brick(0), (IndexBox{{0, 0, 0}, {8, 8, 4}}));
  EXPECT_EQ(plan.brick(1), (IndexBox{{0, 0, 4}, {8, 8, 8}}));
}

TEST(Decomposition, OneCellARank) {
  for (const auto& n : {Index3{2, 2, 2}, Index3{4, 4, 4}, Index3{2, 4, 8}}) {
    const auto grid = grid_of(n);
    const auto plan = try_decomposition(grid, static_cast<int>(grid.size()));
    ASSERT_TRUE(plan.has_value());
    for (const auto& brick : plan->bricks()) EXPECT_EQ(brick.size(), 1);
  }
}

TEST(Decomposition, TooManyRanksAreRefusedWithTheCountsThatWork) {
  const auto grid = grid_of({3, 3, 3});
  EXPECT_FALSE(try_decomposition(grid, 28).has_value());
  EXPECT_FALSE(try_decomposition(grid, 0).has_value());
  try {
    plan_decomposition(grid, 1000);
    FAIL() << "nothing thrown";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("1000 ranks"), std::string::npos) << text;
    EXPECT_NE(text.find("3 × 3 × 3"), std::string::npos) << text;
    // Every count and range named works, and every count that works is named.
    const auto from = text.find("use ") + 4, to = text.find(" ranks (and");
    ASSERT_NE(to, std::string::npos) << text;
    std::set<int> named;
    std::size_t at = from;
    while (at < to) {
      std::size_t used = 0;
      const int first = std::stoi(text.substr(at), &used);
      at += used;
      int last = first;
      if (text.compare(at, 4, " to ") == 0) {
        at += 4;
        last = std::stoi(text.substr(at), &used);
        at += used;
      }
      for (int r = first; r <= last; ++r) named.insert(r);
      if (at < to) {
        ASSERT_EQ(text.compare(at, 2, ", "), 0) << text;
        at += 2;
      }
    }
    for (int r = 1; r <= 40; ++r) EXPECT_EQ(named.contains(r), try_decomposition(grid, r).has_value()) << r << text;
    EXPECT_TRUE(named.contains(1));
  }
}

TEST(Decomposition, PlansLargeMachinesInTime) {
  const auto start = std::chrono::steady_clock::now();
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
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 2.0);
}

/// The wrapped layer of cells around a brick, by definition.
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
      const auto plan = try_decomposition(grid, ranks);
      if (!plan) continue;
      std::vector<HaloPlan> halo;
      for (int rank = 0; rank < ranks; ++rank) halo.push_back(plan_halo(*plan, rank));
      for (int rank = 0; rank < ranks; ++rank) {
        std::set<std::int64_t> received;
        int last_peer = -1;
        for (const auto& peer : halo[static_cast<std::size_t>(rank)].peers) {
          ASSERT_GT(peer.rank, last_peer) << "peers come by rank";
          last_peer = peer.rank;
          ASSERT_NE(peer.rank, rank);
          for (const auto& cell : peer.receive) {
            ASSERT_EQ(plan->owner(cell), peer.rank);
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
        ASSERT_EQ(received, layer_around(grid, plan->brick(rank))) << "rank " << rank << " of " << ranks;
      }
    }
}

}  // namespace
}  // namespace tessera::md::domain
