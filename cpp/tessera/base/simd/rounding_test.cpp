#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/base/simd/rounding_test.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "tessera/base/simd/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void RoundAll(const double* values, std::size_t n, std::int64_t* rounded) {
  const hn::CappedTag<double, 8> d;
  for (std::size_t i = 0; i < n; i += hn::MaxLanes(d))
    hn::StoreU(simd::HWY_NAMESPACE::ToIntegers(hn::LoadU(d, values + i)), hn::RebindToSigned<decltype(d)>(),
               rounded + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tessera/base/test_support/instruction_sets.h"

namespace tessera::simd {
HWY_EXPORT(RoundAll);

namespace {

/// Returns numbers of all magnitudes below 2⁶², numbers that lie halfway between two integers, and neighbours of both.
std::vector<double> numbers() {
  std::vector<double> all = {0.0, -0.0, 0x1p-1074, -0x1p-1022, 0x1p62 - 512, -0x1p62};
  std::mt19937_64 random(7);
  for (int exponent = -3; exponent < 62; ++exponent)
    for (int i = 0; i < 60; ++i) {
      const double any = std::ldexp(1.0 + static_cast<double>(random() >> 11) * 0x1p-53, exponent);
      for (const double one : {any, std::floor(any) + 0.5, std::floor(any), std::ldexp(1.0, exponent)})
        for (const double near : {one, std::nextafter(one, 0.0), std::nextafter(one, 1e300)})
          for (const double sign : {1.0, -1.0}) all.push_back(sign * near);
    }
  all.resize(all.size() / 8 * 8);
  return all;
}

TEST(Rounding, DoublesBecomeTheNearestIntegers) {
  const auto values = numbers();
  test::for_instruction_sets([&] {
    std::vector<std::int64_t> rounded(values.size());
    HWY_DYNAMIC_DISPATCH(RoundAll)(values.data(), values.size(), rounded.data());
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(rounded[i], std::llrint(values[i])) << values[i];
  });
}

}  // namespace
}  // namespace tessera::simd
#endif
