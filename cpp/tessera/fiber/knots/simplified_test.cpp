#include "tessera/fiber/knots/simplified.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace tessera::fiber::knots {
namespace {

/// Returns n points of a line that winds p times about an axis and q times about a circle.
std::vector<Vec3> torus(int n, int p, int q) {
  std::vector<Vec3> points;
  for (int i = 0; i < n; ++i) {
    const double turn = 2 * std::numbers::pi * i / n, radius = 20 + 10 * std::cos(q * turn);
    points.push_back({radius * std::cos(p * turn), radius * std::sin(p * turn), 10 * std::sin(q * turn)});
  }
  return points;
}

TEST(Knots, CurvesWithoutAKnotLoseTheirCorners) {
  for (const int n : {50, 51, 4000}) EXPECT_LT(simplified(torus(n, 1, 6), 5).size(), 5U);
  EXPECT_EQ(simplified(torus(20, 1, 0), 30).size(), 20U);  // few as they are
}

TEST(Knots, KnotsStay) {
  EXPECT_GE(simplified(torus(500, 2, 3), 4).size(), 6U);  // the sticks of a trefoil
  EXPECT_LE(simplified(torus(500, 2, 3), 4).size(), 12U);
  EXPECT_GE(simplified(torus(5000, 2, 5), 4).size(), 8U);
}

TEST(Knots, PointsInOnePlaceStay) { EXPECT_EQ(simplified(std::vector<Vec3>(40, Vec3{1, 2, 3}), 30).size(), 40U); }

}  // namespace
}  // namespace tessera::fiber::knots
