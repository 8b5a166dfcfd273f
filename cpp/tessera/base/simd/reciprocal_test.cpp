#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/base/simd/reciprocal_test.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "tessera/base/simd/reciprocal-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Counts the significands, with this exponent of two, whose reciprocals differ from those of a division.
std::size_t CountDifferences(std::uint32_t exponent) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  std::size_t n = 0;
  for (std::uint32_t significand = 0; significand < 1u << 23; significand += hn::MaxLanes(d)) {
    const auto x = hn::BitCast(d, hn::Add(hn::Set(du, exponent << 23 | significand), hn::Iota(du, 0)));
    const auto differ = hn::Ne(RoundedReciprocal(d, x), hn::Div(hn::Set(d, 1.0f), x));
    n += hn::CountTrue(d, differ);
  }
  return n;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include "tessera/base/test_support/instruction_sets.h"

namespace tessera::simd {
HWY_EXPORT(CountDifferences);

namespace {

TEST(Reciprocal, HasTheBitsOfADivisionForEverySignificand) {
  test::for_instruction_sets([&] {
    for (const std::uint32_t exponent : {110u, 127u, 128u, 170u})
      EXPECT_EQ(HWY_DYNAMIC_DISPATCH(CountDifferences)(exponent), 0u) << "2^" << static_cast<int>(exponent) - 127;
  });
}

}  // namespace
}  // namespace tessera::simd
#endif
