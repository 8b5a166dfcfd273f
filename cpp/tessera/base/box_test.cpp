#include "tessera/base/box.h"

#include <gtest/gtest.h>

#include <limits>
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

TEST(Box, ResolvesLargeBoxes) {
  const Box box({2000, 0, 0}, {0, 2000, 0}, {0, 0, 2000});
  const auto f = box.fraction({999.9, -999.9, 0.1234567});
  EXPECT_NEAR(norm(box.cartesian(f) - Vec3{999.9, -999.9, 0.1234567}), 0, 5e-7);
}

}  // namespace
}  // namespace tessera
