#include "tessera/md/vacuum/frame.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tessera::md::vacuum {
namespace {

TEST(VacuumFrame, HalvesTiesToEven) {
  const auto half = [](std::int32_t f) { return halved({f, 0, 0}, {1, 0, 0}).x; };
  EXPECT_EQ(half(5), 2);
  EXPECT_EQ(half(7), 4);
  EXPECT_EQ(half(-5), -2);
  EXPECT_EQ(half(-7), -4);
  EXPECT_EQ(half(6), 3);
  EXPECT_EQ(halved({1 << 20, 1 << 20, -8}, {2, 0, 3}), (Fraction{1 << 18, 1 << 20, -1}));
}

// The rule of frame.h for any atoms, cut-off and box; a second call has nothing to do, so that restarts change nothing.
TEST(VacuumFrame, HoldsAllAtomsWithinAnEighth) {
  std::mt19937_64 random(3);
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  for (int i = 0; i < 2000; ++i) {
    const auto before = orthorhombic(draw(20, 400), draw(20, 400), draw(20, 400));
    auto extent = nowhere;
    std::vector<Fraction> atoms;
    for (int k = 0; k < 5; ++k) {
      atoms.push_back(before.fraction({draw(-1, 1) * 200, draw(-1, 1) * 20, draw(-1, 1) * 2}));
      extent.add(atoms.back());
    }
    const double cutoff = std::pow(10, draw(0, 4)), buffer = draw(0, 4);
    auto frame = before;
    const auto found = fit(frame, extent, cutoff, buffer);
    ASSERT_FALSE(found.is_full);
    auto of_halved = nowhere;
    for (const auto& atom : atoms) of_halved.add(halved(atom, found.doublings));
    const auto scale = scale_between(before, frame);
    for (std::size_t d = 0; d < 3; ++d) {
      EXPECT_EQ(of_halved.lower[d], extent.lower[d]);
      EXPECT_EQ(of_halved.upper[d], extent.upper[d]);
      EXPECT_GE(extent.lower[d], -eighth);
      EXPECT_LT(extent.upper[d], eighth);
      EXPECT_EQ(scale[d], std::ldexp(1.0, -found.doublings[d]));
      EXPECT_GE(frame.edges()[d], 8 * (range(extent, frame, cutoff) + buffer));
    }
    EXPECT_LE(std::min(cutoff, extent.diagonal(frame)), range(extent, frame, cutoff));
    auto again = frame;
    const auto nothing = fit(again, extent, cutoff, buffer);
    EXPECT_EQ(nothing.doublings, Doublings{});
    EXPECT_EQ(again, frame);
  }
}

TEST(VacuumFrame, IsNeverTooLong) {
  auto frame = orthorhombic(20000, 50, 50);
  Extent extent = {{0, 0, 0}, {(1 << 30) - 8, 0, 0}};  // 5,000 Å
  EXPECT_FALSE(fit(frame, extent, 12, 2).is_full);
  EXPECT_EQ(frame.edges()[0], 40000);
  extent.upper[0] = 1 << 30;
  EXPECT_TRUE(fit(frame, extent, 12, 2).is_full);
  EXPECT_EQ(frame.edges()[0], 40000);
  frame = orthorhombic(1e5, 1e5, 1e5);  // nothing says how far its fractions may be rounded
  extent = {{0, 0, 0}, {1, 1, 1}};
  EXPECT_TRUE(fit(frame, extent, 12, 2).is_full);
}

TEST(VacuumFrame, GrowsAroundAPlace) {
  EXPECT_EQ(around(orthorhombic(40, 40, 40), {0, 9, -100}), orthorhombic(40, 40, 640));
}

}  // namespace
}  // namespace tessera::md::vacuum
