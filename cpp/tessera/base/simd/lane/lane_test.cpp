// Compares the operations of lanes of a device, as a host does them, with Highway's on every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/base/simd/lane/lane_test.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "tessera/base/simd/lane/test_operations-inl.h"

#if HWY_ONCE
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tessera/base/simd/lane/host_lanes.h"
#include "tessera/base/test_support/instruction_sets.h"

namespace tessera::simd {
HWY_EXPORT(RecordOperations);

namespace {

/// Returns numbers of all kinds: bits at random, numbers near one another, special ones, and what is between integers.
test::Inputs inputs() {
  test::Inputs in;
  std::mt19937_64 random(11);
  const auto bits_as = [&]<class T>(T) {
    T value;
    const std::uint64_t bits = random();
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  };
  const auto number = [&]<class T>(T zero) -> T {
    using Limits = std::numeric_limits<T>;
    const T special[] = {0,
                         -T(0),
                         1,
                         -1,
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         Limits::min(),
                         Limits::denorm_min(),
                         -Limits::denorm_min(),
                         Limits::max(),
                         1 + Limits::epsilon(),
                         1 - Limits::epsilon() / 2};
    switch (random() % 4) {
      case 0:
        return special[random() % std::size(special)];
      case 1:
        return bits_as(zero);
      default:
        return static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53 * 16 - 8);
    }
  };
  for (std::size_t i = 0; i < 500 * test::step; ++i) {
    for (auto& operands : in.f32) operands.push_back(number(0.0f));
    for (auto& operands : in.f64) operands.push_back(number(0.0));
    const auto whole = static_cast<std::int32_t>(random()) >> random() % 31;
    const double half = random() % 2 == 0 ? 0.5 : static_cast<double>(random() >> 11) * 0x1p-53;
    in.f32_that_fits.push_back(
        std::min(static_cast<float>(whole) + static_cast<float>(half), std::nextafter(0x1p31f, 0.0f)));
    in.f64_that_fits.push_back(static_cast<double>(whole) * (random() % 2 == 0 ? 1 : 0x1p29) + half);
  }
  return in;
}

TEST(Lane, OperationsHaveTheBitsOfHighways) {
  if (!has_host_lanes()) GTEST_SKIP() << "the host's lanes need AVX2";
  const auto in = inputs();
  test::Results lanes;
  test::record_lanes(in, lanes);
  ASSERT_GT(lanes.size(), 80u);
  tessera::test::for_instruction_sets([&] {
    test::Results expected;
    HWY_DYNAMIC_DISPATCH(RecordOperations)(in, expected);
    ASSERT_EQ(lanes.size(), expected.size());
    for (const auto& [name, bits] : expected) {
      const auto& found = lanes[name];
      ASSERT_EQ(found.size(), bits.size()) << name;
      const auto at = std::mismatch(bits.begin(), bits.end(), found.begin());
      EXPECT_EQ(at.first, bits.end()) << name << ", number " << at.first - bits.begin() << ": " << *at.second
                                      << ", not " << *at.first;
    }
  });
}

}  // namespace
}  // namespace tessera::simd
#endif
