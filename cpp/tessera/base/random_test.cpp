#include "tessera/base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

using Words = std::array<std::uint32_t, 4>;

// These are the "philox 4x32 10" lines of Random123's kat_vectors.
TEST(Random, PhiloxKnownAnswers) {
  const r123::Philox4x32 philox;
  const auto answer = [&](const Words& counter, const std::array<std::uint32_t, 2>& key) {
    const auto w = philox(r123::Philox4x32::ctr_type{{counter[0], counter[1], counter[2], counter[3]}},
                          r123::Philox4x32::key_type{{key[0], key[1]}});
    return Words{w[0], w[1], w[2], w[3]};
  };
  EXPECT_EQ(answer({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(answer({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(answer({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The same vectors must follow from our own counter, in which step and stream share the last word.
TEST(Random, WordsArePhiloxOfSeedIdStepAndStream) {
  EXPECT_EQ(random_words(0, RandomStream::velocity, 0, std::uint64_t{1} << 48),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(random_words(0x299f31d0a4093822, RandomStream::thermostat, 0x85a308d3243f6a88,
                         0x0370734413198a2e ^ (std::uint64_t{2} << 48)),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, EveryArgumentMatters) {
  std::set<Words> seen;
  int n = 0;
  for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32})
    for (const auto stream :
         {RandomStream::velocity, RandomStream::thermostat, RandomStream::barostat, RandomStream::builder})
      for (const std::uint64_t id : {0ull, 1ull, 1ull << 32, 3ull << 32})
        for (const std::uint64_t step : {0ull, 1ull, 1ull << 32})
          for (const std::uint32_t draw : {0u, 1u, 2u}) {
            seen.insert(random_words(seed, stream, id, step, draw));
            ++n;
          }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(n));
}

TEST(Random, NormalsAreTheSameBitsOnEveryMachine) {
  const auto x = random_normals(7, RandomStream::velocity, 1, 3);
  EXPECT_EQ(x, (std::array<double, 4>{0x1.a6b8bc35b1e42p-2, -0x1.8269267cc9f56p-4, -0x1.a9927939549a4p+0,
                                      0x1.f4170c73a6a5ep-1}));
}

TEST(Random, NormalsHaveTheMomentsOfTheNormalDistribution) {
  const int n = 50000;  // four deviates each
  std::array<double, 5> moment{};
  double within_one = 0, product = 0;
  for (std::uint64_t id = 0; id < n; ++id) {
    const auto x = random_normals(7, RandomStream::velocity, id, 3);
    for (const double v : x) {
      for (std::size_t m = 1; m <= 4; ++m) moment[m] += std::pow(v, static_cast<double>(m)) / (4 * n);
      within_one += (std::abs(v) < 1) / (4.0 * n);
    }
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < a; ++b) product += x[a] * x[b] / (6.0 * n);
  }
  // The tolerance is four standard errors of 2·10⁵ deviates.
  const double error = 4 / std::sqrt(4.0 * n);
  EXPECT_NEAR(moment[1], 0, error);
  EXPECT_NEAR(moment[2], 1, error * std::sqrt(2.0));
  EXPECT_NEAR(moment[3], 0, error * std::sqrt(15.0));
  EXPECT_NEAR(moment[4], 3, error * std::sqrt(96.0));
  EXPECT_NEAR(within_one, 0.6826894921, error * 0.4655);
  EXPECT_NEAR(product, 0, 4 / std::sqrt(6.0 * n));
}

TEST(Random, DrawsDoNotDependOnOrder) {
  std::vector<std::array<double, 4>> forwards, backwards;
  for (std::uint64_t id = 0; id < 100; ++id) forwards.push_back(random_normals(1, RandomStream::velocity, id, 9));
  for (std::uint64_t id = 100; id-- > 0;) backwards.push_back(random_normals(1, RandomStream::velocity, id, 9));
  for (std::size_t id = 0; id < 100; ++id) EXPECT_EQ(forwards[id], backwards[99 - id]);
}

}  // namespace
}  // namespace tessera
