#include "tessera/md/restraint/coordinates.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "tessera/md/restraint/potential.h"
#include "tessera/md/restraint/rmsd.h"

namespace tessera::md::restraint {
namespace {

using Places = std::array<Vec3, 4>;

constexpr Places places = {Vec3{0.3, -1.2, 0.5}, Vec3{1.7, 0.4, -0.2}, Vec3{2.1, 2.2, 1.1}, Vec3{3.9, 1.8, 2.3}};
constexpr double pi = std::numbers::pi;

double& component(Vec3& r, int d) { return d == 0 ? r.x : d == 1 ? r.y : r.z; }

TEST(RestraintCoordinates, GradientsAreDerivatives) {
  constexpr double h = 1e-5;  // Å: the third order is below 1e-9, rounding below 1e-10
  for (const auto kind : {RestraintKind::distance, RestraintKind::angle, RestraintKind::dihedral}) {
    const auto found = compute(kind, places);
    Vec3 sum;
    for (std::size_t i = 0; i < 4; ++i) {
      for (int d = 0; d < 3; ++d) {
        Places lower = places, upper = places;
        component(lower[i], d) -= h;
        component(upper[i], d) += h;
        const double slope = (compute(kind, upper).value - compute(kind, lower).value) / (2 * h);
        auto gradient = found.gradient[i];
        EXPECT_NEAR(component(gradient, d), slope, 1e-8) << static_cast<int>(kind) << " " << i << " " << d;
      }
      sum += found.gradient[i];
    }
    EXPECT_LT(norm(sum), 1e-12);
  }
}

TEST(RestraintCoordinates, KnownValues) {
  const Places cis = {Vec3{1, 1, 0}, Vec3{0, 0, 0}, Vec3{0, 0, 1}, Vec3{1, 1, 1}};
  Places quarter = cis;
  quarter[3] = {1, -1, 1};
  EXPECT_NEAR(dihedral(cis).value, 0, 1e-15);
  EXPECT_NEAR(std::abs(dihedral(quarter).value), pi / 2, 1e-15);
  EXPECT_NEAR(angle(cis).value, pi / 2, 1e-15);
  EXPECT_NEAR(distance(cis).value, std::sqrt(2), 1e-15);
}

/// A run must not end with numbers that are none.
TEST(RestraintCoordinates, PlacesWithoutDirection) {
  const Places line = {Vec3{0, 0, 0}, Vec3{1, 0, 0}, Vec3{2, 0, 0}, Vec3{2, 1, 0}};
  const Places one{};
  for (const auto kind : {RestraintKind::distance, RestraintKind::angle, RestraintKind::dihedral})
    for (const auto& some : {line, one}) {
      const auto found = compute(kind, some);
      EXPECT_TRUE(std::isfinite(found.value));
      for (const auto& gradient : found.gradient) EXPECT_TRUE(std::isfinite(norm(gradient)));
    }
}

TEST(RestraintCoordinates, DifferencesOfDihedralsTakeTheNearestTurn) {
  EXPECT_NEAR(difference(RestraintKind::dihedral, -3, 3), 2 * pi - 6, 1e-15);
  EXPECT_NEAR(difference(RestraintKind::dihedral, 3, -2 * pi), 3, 1e-15);
  EXPECT_EQ(difference(RestraintKind::distance, 1, 10), -9);
}

TEST(Superposition, FindsTheRotation) {
  // Half a turn about (1, 0, 1) takes (x, y, z) to (z, −y, x).
  constexpr std::array<std::array<double, 3>, 3> expected = {{{0, 0, 1}, {0, -1, 0}, {1, 0, 0}}};
  std::array<std::array<double, 3>, 3> sums{};
  double squares = 0;
  for (const auto& place : places) {
    const std::array<double, 3> y = {place.x, place.y, place.z}, x = {place.z, -place.y, place.x};
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) sums[a][b] += y[a] * x[b];
    squares += 2 * norm2(place);
  }
  const auto [eigenvalue, r] = superpose(sums);
  EXPECT_NEAR(squares - 2 * eigenvalue, 0, 1e-12);
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b) EXPECT_NEAR(r[a][b], expected[a][b], 1e-12);
}

TEST(RestraintSchedule, IsLinearBetweenPointsAndConstantOutside) {
  const TimeSchedule schedule(std::vector<TimeSchedule::Point>{{1, 10}, {3, 0}, {4, 5}});
  const std::array<std::array<double, 2>, 7> expected = {
      {{0, 10}, {1, 10}, {2, 5}, {3, 0}, {3.5, 2.5}, {4, 5}, {9, 5}}};
  for (const auto& [time, value] : expected) EXPECT_EQ(schedule.at(time), value) << time;
  EXPECT_EQ(TimeSchedule(2).at(0), 2);
}

TEST(RestraintPotential, IsZeroWithinTheFlatPart) {
  const Potential potential{3, 0.5};
  EXPECT_EQ(potential.energy(0.5), 0);
  EXPECT_EQ(potential.slope(0.2), 0);
  EXPECT_NEAR(potential.energy(1.5), 3, 1e-15);
  EXPECT_NEAR(potential.slope(1.5), 6, 1e-15);
}

}  // namespace
}  // namespace tessera::md::restraint
