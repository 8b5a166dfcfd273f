// Tests mesh bricks for random cell bricks, and settings.
#include "tessera/md/pme/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tessera/base/error.h"
#include "tessera/base/test_support/random_bricks.h"
#include "tessera/fft/schemes.h"

namespace tessera::md::pme {
namespace {

TEST(PmePlan, BricksPartitionTheMeshAndHoldTheirCells) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
    };
    const Index3 cells = {pick(2, 7), pick(2, 7), pick(2, 7)}, grid = {pick(8, 40), pick(8, 40), pick(8, 40)};
    const auto cell_bricks = tessera::test::random_bricks(cells, static_cast<int>(pick(1, 8)), random, 1);
    const auto bricks = plan_bricks(grid, cells, cell_bricks);
    std::int64_t points = 0;
    for (std::size_t a = 0; a < bricks.size(); ++a) {
      points += bricks[a].size();
      for (std::size_t b = 0; b < a; ++b) EXPECT_TRUE(intersection(bricks[a], bricks[b]).is_empty());
      for (int d = 0; d < 3; ++d)
        for (auto k = bricks[a].lower[d]; k < bricks[a].upper[d]; ++k) {
          EXPECT_GE(k * cells[d] / grid[d], cell_bricks[a].lower[d]);
          EXPECT_LT(k * cells[d] / grid[d], cell_bricks[a].upper[d]);
        }
    }
    EXPECT_EQ(points, grid[0] * grid[1] * grid[2]);
  }
}

TEST(PmePlan, GridsAreEvenAndHaveSmallFactors) {
  const auto grid = grid_from_spacing({108.0, 77.76, 26.0}, 1.2);
  EXPECT_EQ(grid, (Index3{90, 70, 24}));
  EXPECT_EQ(grid_from_spacing({92.4, 92.4, 92.4}, 0.7), (Index3{140, 140, 140}));
  EXPECT_THROW(grid_from_spacing({10, 10, 10}, 0), InputError);
}

TEST(PmePlan, AlphaSolvesTheTolerance) {
  for (const double tolerance : {1e-3, 1e-5, 1e-12})
    EXPECT_NEAR(std::erfc(9.0 * alpha_from_tolerance(9.0, tolerance)) / tolerance, 1.0, 1e-9);
  EXPECT_THROW(alpha_from_tolerance(9, 2), InputError);
}

TEST(PmePlan, BadSettingsAreInputErrors) {
  const std::vector<IndexBox> one{{{0, 0, 0}, {3, 3, 3}}}, two{{{0, 0, 0}, {1, 3, 3}}, {{1, 0, 0}, {3, 3, 3}}};
  const std::array<double, 3> edges{30, 30, 30};
  EXPECT_THROW(plan_pme({5, 0.3, {30, 30, 30}}, edges, {3, 3, 3}, one, 1, fft::plan_pencil), InputError);
  EXPECT_THROW(plan_pme({4, 0, {30, 30, 30}}, edges, {3, 3, 3}, one, 1, fft::plan_pencil), InputError);
  EXPECT_THROW(plan_pme({4, 0.3, {2, 30, 30}}, edges, {3, 3, 3}, one, 1, fft::plan_pencil), InputError);
  EXPECT_NO_THROW(plan_pme({8, 0.3, {12, 30, 30}}, edges, {3, 3, 3}, one, 1, fft::plan_pencil));
  EXPECT_THROW(plan_pme({8, 0.3, {12, 30, 30}}, edges, {3, 3, 3}, two, 1, fft::plan_pencil),
               InputError);  // cells of 4 points
}

}  // namespace
}  // namespace tessera::md::pme
