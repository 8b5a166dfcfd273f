#include "tessera/base/fixed_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace tessera {
namespace {

TEST(FixedPoint, RoundsToTheNearestUnit) {
  EXPECT_EQ(to_fixed(0, force_unit), 0);
  EXPECT_EQ(to_fixed(1, force_unit), std::int64_t{1} << 32);
  EXPECT_EQ(to_fixed(-1, energy_unit), -(std::int64_t{1} << 28));
  EXPECT_EQ(to_fixed(0.6 * force_unit, force_unit), 1);
  EXPECT_EQ(to_fixed(0.4 * force_unit, force_unit), 0);
  EXPECT_EQ(to_fixed(-0.6 * force_unit, force_unit), -1);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1e4, 1e4);
  for (int i = 0; i < 1000; ++i) {
    const double value = uniform(random);
    EXPECT_NEAR(from_fixed(to_fixed(value, force_unit), force_unit), value, 0.5 * force_unit);
  }
}

TEST(FixedPoint, WhatDoesNotFitIsTheLargestMagnitude) {
  const auto most = static_cast<std::int64_t>(9.0e18);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_fixed(infinity, force_unit), most);
  EXPECT_EQ(to_fixed(-infinity, force_unit), -most);
  EXPECT_EQ(to_fixed(1e300, force_unit), most);
  EXPECT_EQ(to_fixed(-1e300, force_unit), -most);
  EXPECT_EQ(to_fixed(3e9, force_unit), most);
  EXPECT_EQ(std::abs(to_fixed(std::numeric_limits<double>::quiet_NaN(), force_unit)), most);
  // The largest value that fits does not saturate.
  EXPECT_EQ(to_fixed(2.0e9, force_unit), std::int64_t{2000000000} << 32);
}

TEST(FixedPoint, SumsDoNotDependOnOrderEvenThroughOverflow) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(-2e9, 2e9);
  std::vector<std::int64_t> values;
  for (int i = 0; i < 100; ++i) values.push_back(to_fixed(uniform(random), force_unit));
  // The run of positive values at the start overflows on the way to a total that fits.
  const auto total = [&] {
    std::int64_t sum = 0;
    for (const auto v : values) add_fixed(sum, v);
    return sum;
  };
  values.push_back(-total());  // the total is now zero
  values.push_back(to_fixed(12.5, force_unit));
  for (int i = 0; i < 50; ++i) {
    std::shuffle(values.begin(), values.end(), random);
    ASSERT_EQ(total(), to_fixed(12.5, force_unit));
  }
  std::sort(values.begin(), values.end());
  double largest = 0, running = 0;
  for (const auto v : values) largest = std::max(largest, std::abs(running += from_fixed(v, force_unit)));
  ASSERT_GT(largest, 2147483648.0) << "the test does not overflow, so it shows nothing";
  EXPECT_EQ(total(), to_fixed(12.5, force_unit));
}

TEST(FixedPoint, ForcesAddByComponent) {
  std::int64_t force[3] = {1, 2, 3};
  add_fixed_force(force, {1, -2, 0.5});
  EXPECT_EQ(force[0], 1 + (std::int64_t{1} << 32));
  EXPECT_EQ(force[1], 2 - (std::int64_t{2} << 32));
  EXPECT_EQ(force[2], 3 + (std::int64_t{1} << 31));
}

}  // namespace
}  // namespace tessera
