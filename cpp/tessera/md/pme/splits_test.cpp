#include "tessera/md/pme/splits.h"

#include <gtest/gtest.h>

#include "tessera/md/pme/plan.h"

namespace tessera::md::pme {
namespace {

// Two numbers decide the accuracy: the tolerance fixes α·cutoff, and splits keep α times the greatest spacing.
TEST(Splits, KeepTheAccuracy) {
  const std::array<double, 3> edges{108.86, 108.86, 77.76};
  const Split first{9, grid_from_spacing(edges, 1.1)};
  const auto product = [&](const Split& split) {
    double spacing = 0;
    for (std::size_t d = 0; d < 3; ++d) spacing = std::max(spacing, edges[d] / static_cast<double>(split.grid[d]));
    return alpha_from_tolerance(split.cutoff, 1e-5) * spacing;
  };
  const auto splits = coarser_splits(first, edges, 1.7 * first.cutoff);
  ASSERT_GE(splits.size(), 5u);
  auto previous = first;
  for (const auto& split : splits) {
    EXPECT_NEAR(product(split), product(first), 1e-12);
    EXPECT_GE(split.cutoff, 1.02 * previous.cutoff - 1e-9);
    EXPECT_LE(split.cutoff, 1.7 * first.cutoff);
    for (std::size_t d = 0; d < 3; ++d) EXPECT_LE(split.grid[d], previous.grid[d]);
    EXPECT_NE(split.grid, previous.grid);
    previous = split;
  }
}

TEST(Splits, NoneWithoutRoom) {
  const std::array<double, 3> edges{40, 40, 40};
  EXPECT_TRUE(coarser_splits({9, {40, 40, 40}}, edges, 9).empty());
  // If the mesh is finer along one edge than along another, the greatest spacing counts.
  for (const auto& split : coarser_splits({9, {80, 40, 40}}, edges, 14))
    EXPECT_NEAR(split.cutoff * static_cast<double>(split.grid[1]), 9 * 40, 1e-9);
}

}  // namespace
}  // namespace tessera::md::pme
