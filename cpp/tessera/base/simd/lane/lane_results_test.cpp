// Applies operations to lanes of a device for lane_test.cpp, and tests those that Highway has no name for.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "tessera/base/simd/lane/host_lanes.h"
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/base/simd/lane/run.h"
#include "tessera/base/simd/lane/test_operations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace HWY_NAMESPACE {

using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
using DL = hn::CappedTag<std::int64_t, 8>;
constexpr std::size_t n = hn::warp_size;

using Words = std::vector<std::int32_t>;

/// Returns what the functions of warp.h do to some numbers, one after the other.
std::vector<Words> ApplyToWarp(const Words& numbers, const Words& more) {
  const DI d;
  std::vector<Words> results;
  const auto add = [&](Numbers v) HWY_ATTR { hn::StoreU(v, d, results.emplace_back(n).data()); };
  const auto a = hn::LoadU(d, numbers.data()), b = hn::LoadU(d, more.data());
  add(LaneNumbers());
  add(Exchange<1>(a));
  add(Exchange<16>(a));
  add(SumOfWarp(a));
  add(hn::IfThenElse(AnyOfHalf(hn::Eq(a, hn::Set(d, 7))), a, hn::Zero(d)));
  add(hn::Shl(hn::Set(d, 3), hn::And(a, hn::Set(d, 15))));
  Words at(n, -1), sums(4, 5);
  Scatter(a, at.data(), hn::Xor(LaneNumbers(), hn::Set(d, 3)), hn::Lt(a, b));
  results.push_back(at);
  AtomicAdd(a, sums.data(), hn::And(LaneNumbers(), hn::Set(d, 3)), hn::Lt(a, b));
  results.push_back(sums);
  std::int32_t counter = 100;
  add(TakeNumbers(&counter, hn::Lt(a, b)));
  results.push_back({counter});
  return results;
}

/// Returns the nearest integers of numbers that may not fit: of 32 bits, of 32 bits towards zero, of 64 bits.
std::array<std::vector<std::int64_t>, 3> Convert(const std::vector<float>& values) {
  std::array<std::vector<std::int64_t>, 3> results;
  const auto v = hn::LoadU(D(), values.data());
  const auto add = [&](std::vector<std::int64_t>& to, hn::Lanes<std::int64_t> integers)
                       HWY_ATTR { to.resize(n), hn::StoreU(integers, DL(), to.data()); };
  add(results[0], hn::PromoteTo(DL(), hn::NearestInt(v)));
  add(results[1], hn::PromoteTo(DL(), hn::ConvertTo(DI(), v)));
  add(results[2], ToWideIntegers(v));
  return results;
}

/// Adds the numbers of its threads in shared memory, and then those of its blocks.
struct SumKernel {
  static constexpr int n_phases = 3, warps_of_block = 4;
  struct Shared {
    std::int32_t sum;
  };
  struct Arguments {
    std::int32_t* total;
    std::int32_t* last;  // to write; who was it?
  };

  template <int phase>
  static HWY_INLINE void Run(const Arguments& arguments, Shared& shared, const Place& place) {
    const DI d;
    const auto first = hn::Eq(LaneNumbers(), hn::Zero(d));
    if constexpr (phase == 0) {
      if (place.warp == 0) Scatter(hn::Zero(d), &shared.sum, hn::Zero(d), first);
    } else if constexpr (phase == 1) {
      const auto number = hn::Add(LaneNumbers(), hn::Set(d, 32 * (place.warp + place.warps * place.block)));
      AtomicAdd(SumOfWarp(number), &shared.sum, hn::Zero(d), first);
      Scatter(number, arguments.last, hn::Zero(d), first);
    } else if (place.warp == 0) {
      AtomicAdd(hn::Set(d, shared.sum), arguments.total, hn::Zero(d), first);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();

namespace tessera::simd {

namespace test {
void record_lanes(const Inputs& in, Results& results) { N_LANE::RecordOperations(in, results); }
}  // namespace test

namespace {

TEST(Lane, WarpsDoWhatTheirNamesSay) {
  if (!has_host_lanes()) GTEST_SKIP() << "the host's lanes need AVX2";
  constexpr int n = 32;
  std::vector<std::int32_t> a(n), b(n, 16), expected(n);
  for (int i = 0; i < n; ++i) a[static_cast<std::size_t>(i)] = (7 * i + 3) % n;
  const auto found = N_LANE::ApplyToWarp(a, b);
  const auto is = [&](std::size_t result, auto&& of_lane) {
    for (std::size_t i = 0; i < n; ++i) expected[i] = of_lane(i);
    EXPECT_EQ(found[result], expected) << "result " << result;
  };
  is(0, [&](std::size_t i) { return static_cast<std::int32_t>(i); });
  is(1, [&](std::size_t i) { return a[i ^ 1]; });
  is(2, [&](std::size_t i) { return a[i ^ 16]; });
  is(3, [&](std::size_t) { return n * (n - 1) / 2; });
  const auto seven = static_cast<std::size_t>(std::find(a.begin(), a.end(), 7) - a.begin());
  is(4, [&](std::size_t i) { return i / 16 == seven / 16 ? a[i] : 0; });
  is(5, [&](std::size_t i) { return 3 << (a[i] & 15); });
  is(6, [&](std::size_t i) { return a[i ^ 3] < 16 ? a[i ^ 3] : -1; });
  std::vector<std::int32_t> sums(4, 5);
  for (std::size_t i = 0; i < n; ++i) sums[i % 4] += a[i] < 16 ? a[i] : 0;
  EXPECT_EQ(found[7], sums);
  std::vector<std::int32_t> taken;
  for (std::size_t i = 0; i < n; ++i)
    if (a[i] < 16) taken.push_back(found[8][i]);
  std::sort(taken.begin(), taken.end());
  std::vector<std::int32_t> numbers(16);
  std::iota(numbers.begin(), numbers.end(), 100);
  EXPECT_EQ(taken, numbers);
  EXPECT_EQ(found[9], std::vector<std::int32_t>{116});
}

// On x86 all of these would be the least integer.
TEST(Lane, ConversionsSaturateAsOnADevice) {
  if (!has_host_lanes()) GTEST_SKIP() << "the host's lanes need AVX2";
  constexpr auto least = std::numeric_limits<std::int32_t>::min(), most = std::numeric_limits<std::int32_t>::max();
  constexpr auto least64 = std::numeric_limits<std::int64_t>::min(), most64 = std::numeric_limits<std::int64_t>::max();
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values = {2.5f, -3.5f, 0x1p31f, -0x1p31f, 3e9f, -3e9f, 1e30f, -1e30f, inf, -inf, nan};
  const auto n = values.size();
  values.resize(32);
  const std::vector<std::int64_t> nearest = {2, -4, most, least, most, least, most, least, most, least, 0};
  const std::vector<std::int64_t> towards_zero = {2, -3, most, least, most, least, most, least, most, least, 0};
  const std::vector<std::int64_t> wide = {2,      -4,      1ll << 31, -(1ll << 31), 3000000000, -3000000000,
                                          most64, least64, most64,    least64,      least64};
  const auto found = N_LANE::Convert(values);
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(found[0][i], nearest[i]) << values[i];
    EXPECT_EQ(found[1][i], towards_zero[i]) << values[i];
    EXPECT_EQ(found[2][i], wide[i]) << values[i];
  }
}

TEST(Lane, AHostRunsThePhasesOfAKernelInAnyOrderOfWarps) {
  if (!has_host_lanes()) GTEST_SKIP() << "the host's lanes need AVX2";
  std::set<std::int32_t> last;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::int32_t total = 0, one = 0;
    N_LANE::RunOnHost<N_LANE::SumKernel>({&total, &one}, 3, seed);
    EXPECT_EQ(total, 384 * 383 / 2);
    last.insert(one);
  }
  EXPECT_GT(last.size(), 3u);  // what depends on the order shows
}

}  // namespace
}  // namespace tessera::simd
