#include "tessera/base/box.h"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <random>

namespace tessera {
namespace {

constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();

TEST(Fraction, DifferencesAndSumsWrap) {
  const Fraction low = {least, 0, most}, high = {most, 0, least};
  EXPECT_EQ(high - low, (Fraction{-1, 0, 1}));  // neighbours across the box's face
  EXPECT_EQ(low + (Fraction{-1, 5, 1}), (Fraction{most, 5, least}));
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int32_t> any(least, most);
  for (int i = 0; i < 1000; ++i) {
    const Fraction a = {any(random), any(random), any(random)}, b = {any(random), any(random), any(random)};
    EXPECT_EQ(b + (a - b), a);
  }
}

TEST(Box, WrapsAnyPositionIntoTheBox) {
  const Box box({10, 0, 0}, {0, 20, 0}, {0, 0, 40});
  EXPECT_EQ(box.fraction({0, 0, 0}), (Fraction{0, 0, 0}));
  EXPECT_EQ(box.fraction({2.5, 5, 10}), (Fraction{1 << 30, 1 << 30, 1 << 30}));
  EXPECT_EQ(box.fraction({5, 10, 20}), (Fraction{least, least, least}));
  EXPECT_EQ(box.fraction({-5, -10, -20}), (Fraction{least, least, least}));
  for (const double turns : {-1000.0, -3.0, -1.0, 1.0, 7.0, 1000.0})
    EXPECT_EQ(box.fraction({2.5 + 10 * turns, 5 - 20 * turns, 10 + 40 * turns}), (Fraction{1 << 30, 1 << 30, 1 << 30}));
  // A position closer to the upper face than half a unit is on the face itself, which is the lower one.
  EXPECT_EQ(box.fraction({std::nextafter(5.0, 0.0), 0, 0}).x, least);
}

TEST(Box, NearestImageIsExactAndShortest) {
  const Box box({31, 0, 0}, {0, 27, 0}, {0, 0, 45});
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(-60, 60);
  for (int i = 0; i < 2000; ++i) {
    const Vec3 p = {uniform(random), uniform(random), uniform(random)};
    const Vec3 q = {uniform(random), uniform(random), uniform(random)};
    const Vec3 d = box.displacement(box.fraction(p), box.fraction(q));
    double shortest2 = 0;
    for (const auto& [delta, edge] : {std::pair(q.x - p.x, 31.0), {q.y - p.y, 27.0}, {q.z - p.z, 45.0}})
      shortest2 += std::pow(delta - edge * std::round(delta / edge), 2);
    EXPECT_NEAR(norm(d), std::sqrt(shortest2), 5e-8);
  }
}

TEST(Box, TriclinicRoundTrip) {
  const Box box({30, 0, 0}, {-7, 25, 0}, {4, -6, 28});
  EXPECT_FALSE(box.is_orthorhombic());
  EXPECT_DOUBLE_EQ(box.volume(), dot(box.a(), cross(box.b(), box.c())));
  EXPECT_DOUBLE_EQ(box.edges()[1], std::sqrt(7.0 * 7 + 25 * 25));
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (int i = 0; i < 1000; ++i) {
    const Vec3 inside = uniform(random) * box.a() + uniform(random) * box.b() + uniform(random) * box.c();
    EXPECT_NEAR(norm(box.cartesian(box.fraction(inside)) - inside), 0, 3e-8);
    const Vec3 elsewhere = inside + 3.0 * box.a() - 2.0 * box.b() + 5.0 * box.c();
    EXPECT_NEAR(norm(box.cartesian(box.fraction(elsewhere)) - inside), 0, 3e-8);
  }
}

Box any_box(std::mt19937_64& random) {
  std::uniform_real_distribution<double> edge(20, 60), lean(-0.5, 0.5);
  const double x = edge(random), y = edge(random), z = edge(random);
  return {{x, 0, 0}, {lean(random) * x, y, 0}, {lean(random) * x, lean(random) * y, z}};
}

TEST(Box, HeightsAreDistancesOfFaces) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100; ++i) {
    const auto box = any_box(random);
    const std::array<Vec3, 3> v = {box.a(), box.b(), box.c()};
    for (std::size_t d = 0; d < 3; ++d) {
      const Vec3 normal = cross(v[(d + 1) % 3], v[(d + 2) % 3]);
      EXPECT_NEAR(box.heights()[d], std::abs(dot(v[d], normal)) / norm(normal), 1e-12);
      EXPECT_NEAR(std::cos(box.angles()[d] * std::numbers::pi / 180),
                  dot(v[(d + 1) % 3], v[(d + 2) % 3]) / (norm(v[(d + 1) % 3]) * norm(v[(d + 2) % 3])), 1e-12);
    }
  }
  // Exactly, so that orthorhombic boxes keep their bits.
  const auto cuboid = orthorhombic(31.1, 27.3, 45.7);
  EXPECT_EQ(cuboid.heights(), cuboid.edges());
  EXPECT_EQ(cuboid.angles(), (std::array<double, 3>{90, 90, 90}));
}

TEST(Box, ShortVectorsAreInTheNearestImage) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-100, 100);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 1000; ++i) {
    const auto box = any_box(random);
    const auto heights = box.heights();
    const Vec3 start = {uniform(random), uniform(random), uniform(random)};
    Vec3 d = {normal(random), normal(random), normal(random)};
    d *= 0.499 * std::min({heights[0], heights[1], heights[2]}) / norm(d);
    EXPECT_NEAR(norm(box.displacement(box.fraction(start), box.fraction(start + d)) - d), 0, 2e-7);
  }
}

TEST(Box, MatricesAndDeformations) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int i = 0; i < 1000; ++i) {
    const auto box = any_box(random), other = any_box(random);
    const Fraction f = {static_cast<std::int32_t>(2e9 * uniform(random)),
                        static_cast<std::int32_t>(2e9 * uniform(random)),
                        static_cast<std::int32_t>(2e9 * uniform(random))};
    const auto to_length = box.unit_vectors();
    const Vec3 r = to_length * f.units();
    EXPECT_NEAR(norm(r - box.cartesian(f)), 0, 1e-12);
    EXPECT_NEAR(norm(inverse(to_length) * r - f.units()), 0, 1e-4);
    const auto change = deformation(box, other);
    EXPECT_NEAR(norm(change * r - other.cartesian(f)), 0, 1e-10);
    EXPECT_GE(norm(change * r), least_stretch(change) * norm(r) - 1e-10);
    const auto whole = box.divided({2, 3, 4});
    EXPECT_NEAR(norm(2 * whole.a() - box.a()) + norm(3 * whole.b() - box.b()) + norm(4 * whole.c() - box.c()), 0,
                1e-12);
  }
  const auto change = deformation(orthorhombic(30, 40, 50), orthorhombic(31, 39, 50));
  EXPECT_EQ(least_stretch(change), 39.0 / 40.0);
}

TEST(Box, ResolvesLargeBoxes) {
  const Box box({2000, 0, 0}, {0, 2000, 0}, {0, 0, 2000});
  const auto f = box.fraction({999.9, -999.9, 0.1234567});
  EXPECT_NEAR(norm(box.cartesian(f) - Vec3{999.9, -999.9, 0.1234567}), 0, 5e-7);
}

}  // namespace
}  // namespace tessera
