#include "tessera/md/domain/cell_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::md::domain {
namespace {

constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();

TEST(CellDemands, TheLargestDemandSetsTheEdge) {
  CellDemands demands = {.list_range = 13.5, .group_radius = 1.2, .bonded_reach = 4, .mesh_reach = 3, .buffer = 1.5};
  EXPECT_DOUBLE_EQ(demands.least_width(), 6.75 + 1.2);
  demands.bonded_reach = 6;
  EXPECT_DOUBLE_EQ(demands.least_width(), 6 + 2.4);
  demands.mesh_reach = 9;
  EXPECT_DOUBLE_EQ(demands.least_width(), 9 + 1.2 + 0.75);
}

TEST(PlanCellGrid, IsTheFinestOfEvenNumbersWhoseCellsAreWideEnough) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> range(4, 20), edge(2.0, 30.0);
  for (int i = 0; i < 1000; ++i) {
    const CellDemands demands = {.list_range = range(random), .group_radius = 1.1};
    const double w = demands.least_width();
    const auto box = orthorhombic(w * edge(random), w * edge(random), w * edge(random));
    const auto grid = plan_cell_grid(box, demands);
    const auto edges = box.edges();
    const double useful = std::max(w, 8.0);
    const double wide = *std::min_element(edges.begin(), edges.end()) >= 7 * useful ? useful : w;
    for (std::size_t d = 0; d < 3; ++d) {
      EXPECT_GE(grid.width[d], wide);
      EXPECT_NEAR(grid.width[d] * static_cast<double>(grid.n[d]), box.edges()[d], 1e-9);
      const std::int64_t next = grid.n[d] + (grid.n[d] < 4 ? 1 : 2);
      EXPECT_TRUE(grid.n[d] <= 3 || grid.n[d] % 2 == 0) << grid.n[d];
      EXPECT_LT(box.edges()[d] / static_cast<double>(next), wide);
    }
  }
}

TEST(PlanCellGrid, RefusesBoxesTooSmallAndSaysWhich) {
  const CellDemands demands = {.list_range = 10};
  EXPECT_EQ(plan_cell_grid(orthorhombic(10, 10, 10), demands).n, (Index3{2, 2, 2}));
  try {
    plan_cell_grid(orthorhombic(20, 9.9, 20), demands);
    FAIL() << "nothing thrown";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("edge y is 9.900"), std::string::npos) << text;
    EXPECT_NE(text.find("5.000"), std::string::npos) << text;
  }
  try {
    plan_cell_grid(orthorhombic(30, 30, 30),
                   {.list_range = 10, .group_radius = 6, .bonded_reach = 4, .mesh_reach = 6, .widest_group = "BEN LP"});
    FAIL() << "nothing thrown";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("virtual site BEN LP"), std::string::npos) << text;
    EXPECT_EQ(text.find("mesh"), std::string::npos) << text;
  }
  try {
    plan_cell_grid(orthorhombic(30, 30, 30), {.list_range = 10, .mesh_reach = 18});
    FAIL() << "nothing thrown";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("charges reach 18.00 Å; use a finer mesh"), std::string::npos);
  }
}

TEST(PlanCellGrid, BlamesBondsAndNoSiteWhereGroupsAreThoseOfAnyWater) {
  for (const char* site : {"", "HOH M"}) try {
      plan_cell_grid(orthorhombic(9.3, 9.3, 9.3),
                     {.list_range = 6.8, .group_radius = 1.05, .bonded_reach = 4.5, .widest_group = site});
      FAIL() << "nothing thrown";
    } catch (const InputError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("less than two cells of 6.600 Å, as bonded atoms may be 6.60 Å apart"), std::string::npos)
          << text;
      EXPECT_EQ(text.find("site"), std::string::npos) << text;
    }
}

TEST(PlanCellGrid, CountsHeightsAndNotEdges) {
  const Box box({30, 0, 0}, {15, 26, 0}, {15, 9, 24.4});
  const CellDemands demands = {.list_range = 12};
  const auto grid = plan_cell_grid(box, demands);
  const auto heights = box.heights();
  for (std::size_t d = 0; d < 3; ++d) {
    EXPECT_LT(heights[d], 25);
    EXPECT_EQ(grid.n[d], 4);
    EXPECT_DOUBLE_EQ(grid.width[d], heights[d] / 4);
  }
  EXPECT_NEAR(grid.volume * 64, box.volume(), 1e-9);
  try {
    plan_cell_grid(box, {.list_range = 25});
    FAIL() << "nothing thrown";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("the faces of the box that its vector a joins are 24.5"),
              std::string::npos)
        << error.what();
  }
}

TEST(CellGrid, CellsOfExtremeFractions) {
  for (const std::int64_t n : {2, 3, 7, 1000, 1 << 20}) {
    const CellGrid grid = {{n, n, n}, {1, 1, 1}};
    EXPECT_EQ(grid.cell_of({least, least, least}), (Index3{0, 0, 0}));
    EXPECT_EQ(grid.cell_of({most, most, most}), (Index3{n - 1, n - 1, n - 1}));
    EXPECT_EQ(grid.cell_of({0, 0, 0})[0], n / 2);
    EXPECT_EQ(grid.cell_of({-1, 0, 0})[0], (n - 1) / 2);
  }
}

// Cell c holds the fractions f with c ≤ (f + 2³¹)·n/2³² < c + 1, which is checked at both sides of every border.
TEST(CellGrid, BordersBelongToTheUpperCell) {
  for (const std::int64_t n : {2, 3, 5, 7, 64, 999}) {
    const CellGrid grid = {{n, n + 1, n + 2}, {1, 1, 1}};
    for (std::size_t d = 0; d < 3; ++d)
      for (std::int64_t c = 0; c < grid.n[d]; ++c) {
        const std::int64_t first = ((c << 32) + grid.n[d] - 1) / grid.n[d];  // the least shifted fraction of cell c
        const auto at = [&](std::int64_t shifted) {
          const auto f = static_cast<std::int32_t>(shifted - (std::int64_t{1} << 31));
          return grid.cell_of({d == 0 ? f : 0, d == 1 ? f : 0, d == 2 ? f : 0})[d];
        };
        EXPECT_EQ(at(first), c);
        EXPECT_EQ(at(std::max<std::int64_t>(first - 1, 0)), std::max<std::int64_t>(c - 1, 0));
      }
  }
}

TEST(CellGrid, CentresLieInTheMiddleOfTheirCells) {
  for (const std::int64_t n : {2, 3, 5, 7, 64, 999, 1 << 20}) {
    const CellGrid grid = {{n, n, n}, {1, 1, 1}};
    for (std::int64_t c = 0; c < n; c += std::max<std::int64_t>(1, n / 50)) {
      const auto centre = grid.centre({c, c, c});
      EXPECT_EQ(grid.cell_of(centre), (Index3{c, c, c}));
      const double fraction = (centre.x + 2147483648.0) / 4294967296.0;
      EXPECT_NEAR(fraction, (static_cast<double>(c) + 0.5) / static_cast<double>(n), 1.0 / 4294967296.0);
      EXPECT_EQ(centre.x, centre.y);
      EXPECT_EQ(centre.x, centre.z);
    }
  }
}

TEST(CellGrid, NumbersAndWrapsCells) {
  const CellGrid grid = {{3, 4, 5}, {1, 1, 1}};
  for (std::int64_t i = 0; i < grid.size(); ++i) EXPECT_EQ(grid.flat(grid.unflat(i)), i);
  EXPECT_EQ(grid.unflat(1), (Index3{0, 0, 1}));
  EXPECT_EQ(grid.wrapped({-1, 4, 11}), (Index3{2, 0, 1}));
  EXPECT_EQ(grid.wrapped({-7, -8, -1}), (Index3{2, 0, 4}));
}

/// Returns the corners around two places anywhere in a frame's middle quarter.
std::pair<Fraction, Fraction> draw_corners(std::mt19937_64& random) {
  std::uniform_int_distribution<std::int32_t> place(-(1 << 29), (1 << 29) - 1);
  const auto draw = [&] { return Fraction{place(random), place(random), place(random)}; };
  const auto p = draw(), q = draw();
  return {{std::min(p.x, q.x), std::min(p.y, q.y), std::min(p.z, q.z)},
          {std::max(p.x, q.x), std::max(p.y, q.y), std::max(p.z, q.z)}};
}

// Whichever part of the frame's cells a grid has, an atom is in the same one.
TEST(PlanVacuumGrid, IsThePartAroundTheAtoms) {
  std::mt19937_64 random(4);
  const CellDemands demands = {.list_range = 12, .group_radius = 1.1};
  const auto frame = orthorhombic(150, 410, 4000);
  constexpr std::int32_t eighth = 1 << 29;
  const auto all = plan_vacuum_grid(frame, demands, {-eighth, -eighth, -eighth}, {eighth - 1, eighth - 1, eighth - 1});
  for (int i = 0; i < 1000; ++i) {
    const auto [lower, upper] = draw_corners(random);
    const auto grid = plan_vacuum_grid(frame, demands, lower, upper);
    EXPECT_EQ(grid.whole(), all.whole());
    EXPECT_TRUE(all.contains(grid));
    for (const auto& corner : {lower, upper}) {
      const auto cell = grid.cell_of(corner);
      EXPECT_TRUE(grid.contains(cell));
      EXPECT_EQ(grid.centre(cell), all.centre(all.cell_of(corner)));
    }
    for (const double width : grid.width) EXPECT_GE(width, std::max(demands.least_width(), 8.0));
  }
}

TEST(WithCells, GrowsUntilThereAreEnough) {
  const auto grid = plan_vacuum_grid(orthorhombic(400, 400, 400), {.list_range = 12}, {0, 0, 0}, {0, 0, 0});
  EXPECT_EQ(grid.n, (Index3{3, 3, 3}));
  EXPECT_EQ(with_cells(grid, 27).n, grid.n);
  const auto grown = with_cells(grid, 28);
  EXPECT_EQ(grown.n, (Index3{5, 5, 5}));
  EXPECT_EQ(grown.whole(), grid.whole());
  EXPECT_TRUE(grown.contains(grid));
  EXPECT_EQ(with_cells(grid, 1'000'000'000).n, grid.whole());
}

}  // namespace
}  // namespace tessera::md::domain
