#include "tessera/machine/survey/pairs_to_measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

using test::leaves_of;

std::int64_t n_pairs(int n) { return std::int64_t{n} * (n - 1) / 2; }

struct Survey {
  TimeMatrix known;
  std::int64_t n_measured = 0;
  int n_rounds = 0;
};

/// Answers from the true times until nothing more is asked.
Survey survey(const std::function<double(int, int)>& time, int n, std::int64_t budget) {
  Survey result{TimeMatrix(n)};
  for (;;) {
    const auto pairs = pairs_to_measure(std::span(&result.known, 1), budget);
    if (pairs.empty()) return result;
    ++result.n_rounds;
    for (const auto& [a, b] : pairs) {
      EXPECT_FALSE(result.known.is_known(a, b)) << "asked twice";
      result.known.set_both(a, b, time(a, b));
    }
    result.n_measured += static_cast<std::int64_t>(pairs.size());
  }
}

/// Returns times on a random tree of two or three levels, with every measurement up to `noise` longer; hosts are in the
/// order of the tree or not.
TimeMatrix random_tree(int n, double noise, bool is_shuffled, std::mt19937& random) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::vector<int> rack(static_cast<std::size_t>(n));
  std::vector<int> room;
  for (int h = 0, left = 0, left_in_room = 0; h < n; ++h, --left) {
    if (left == 0) {
      left = draw(2, 4) * draw(2, 10);
      if (left_in_room-- == 0) left_in_room = draw(1, 5);
      room.push_back(room.empty() ? 0 : room.back() + (left_in_room == 0 ? 1 : 0));
    }
    rack[static_cast<std::size_t>(h)] = static_cast<int>(room.size()) - 1;
  }
  if (is_shuffled) std::shuffle(rack.begin(), rack.end(), random);
  std::vector<double> inside;
  for (std::size_t r = 0; r < room.size(); ++r) inside.push_back(draw(0, 3) == 0 ? 13.0 : 10.0);
  auto times = test::times_of_groups(rack, inside, [&](int g, int k) {
    return room[static_cast<std::size_t>(g)] == room[static_cast<std::size_t>(k)] ? 19.0 : 30.0;
  });
  test::add_noise(times, noise, random);
  return times;
}

TEST(PairsToMeasure, FewHostsAreMeasuredInFull) {
  for (const int n : {2, 3, 8, 16}) {
    const auto result = survey([](int, int) { return 1.0; }, n, default_pair_budget(n));
    EXPECT_EQ(result.n_measured, n_pairs(n));
    EXPECT_EQ(result.n_rounds, 1);
  }
  EXPECT_TRUE(pairs_to_measure({}, 10).empty());
  const TimeMatrix alone(1);
  EXPECT_TRUE(pairs_to_measure(std::span(&alone, 1), 10).empty());
}

TEST(PairsToMeasure, FindsTheSameSubnetsAsAllPairs) {
  std::mt19937 random(1);
  for (const bool is_shuffled : {false, true})
    for (const int n : {20, 64, 150, 300, 512}) {
      double part = 0;
      const int n_trials = n < 300 ? 10 : 3;  // computing the full matrix takes most of the time
      for (int trial = 0; trial < n_trials; ++trial) {
        const auto times = random_tree(n, 0.05, is_shuffled, random);
        const auto result = survey([&](int a, int b) { return times.between(a, b); }, n, n_pairs(n));
        EXPECT_EQ(partition(result.known), partition(times)) << n << " hosts, trial " << trial;
        EXPECT_EQ(leaves_of(hierarchy(result.known)), leaves_of(hierarchy(times)));
        EXPECT_EQ(hierarchy(result.known).size(), hierarchy(times).size()) << n << " hosts, trial " << trial;
        part += static_cast<double>(result.n_measured) / static_cast<double>(n_pairs(n)) / n_trials;
      }
      RecordProperty((is_shuffled ? "part_shuffled_" : "part_sorted_") + std::to_string(n), std::to_string(part));
      EXPECT_LT(part, n < 64 ? 0.6 : n < 300 ? 0.25 : 0.08) << n;
    }
}

TEST(PairsToMeasure, BadMeasurementsAreOutvoted) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<int> rack(128);  // racks of 16, in order or dealt out
    for (std::size_t h = 0; h < rack.size(); ++h) rack[h] = static_cast<int>(trial % 2 == 0 ? h / 16 : h % 8);
    auto times = test::times_of_groups(rack, std::vector<double>(8, 10), [](int, int) { return 20; });
    test::add_noise(times, 0.05, random);
    std::bernoulli_distribution is_bad(0.02);
    for (int a = 0; a < 128; ++a)
      for (int b = a + 1; b < 128; ++b)
        if (is_bad(random)) times.set_both(a, b, 5 * times.between(a, b));
    const auto result = survey([&](int a, int b) { return times.between(a, b); }, 128, default_pair_budget(128));
    EXPECT_EQ(partition(result.known), test::groups_of(rack)) << trial;
  }
}

TEST(PairsToMeasure, ALoneHostDoesNotDecide) {
  std::vector<int> rack(61);  // host 0 is alone, equally far from all others, which are dealt out to three racks
  for (std::size_t h = 1; h < rack.size(); ++h) rack[h] = 1 + static_cast<int>(h % 3);
  const auto times = test::times_of_groups(rack, std::vector<double>(4, 10), [](int, int) { return 20; });
  const auto result = survey([&](int a, int b) { return times.between(a, b); }, 61, default_pair_budget(61));
  EXPECT_EQ(partition(result.known), test::groups_of(rack));
}

TEST(PairsToMeasure, ASplitAtOneSizeIsEnough) {
  std::vector<int> rack(64);
  for (std::size_t h = 0; h < rack.size(); ++h) rack[h] = static_cast<int>(h % 4);
  const auto small = test::times_of_groups(rack, std::vector<double>(4, 1), [](int, int) { return 1; });
  const auto large = test::times_of_groups(rack, std::vector<double>(4, 10), [](int, int) { return 20; });
  std::vector<TimeMatrix> known(2, TimeMatrix(64));
  for (auto pairs = pairs_to_measure(known, 2016); !pairs.empty(); pairs = pairs_to_measure(known, 2016))
    for (const auto& [a, b] : pairs) {
      known[0].set_both(a, b, small.between(a, b));
      known[1].set_both(a, b, large.between(a, b));
    }
  EXPECT_EQ(partition(known[1]), test::groups_of(rack));
}

TEST(PairsToMeasure, FourThousandHosts) {
  constexpr int n = 4096;  // 4 rooms of 32 racks of 32
  const auto time = [](int a, int b) { return a / 32 == b / 32 ? 10.0 : a / 1024 == b / 1024 ? 15.0 : 25.0; };
  const auto budget = default_pair_budget(n);
  EXPECT_EQ(budget, 4 * n * 12);
  const auto result = survey(time, n, budget);
  EXPECT_LT(result.n_measured, budget);
  RecordProperty("measured", std::to_string(result.n_measured));
  RecordProperty("rounds", result.n_rounds);
  const auto groups = partition(result.known);
  ASSERT_EQ(groups.size(), 128U);
  for (int g = 0; g < 128; ++g) {
    EXPECT_EQ(groups[static_cast<std::size_t>(g)].size(), 32U);
    EXPECT_EQ(groups[static_cast<std::size_t>(g)].front(), 32 * g);
  }
}

TEST(PairsToMeasure, StaysWithinItsBudget) {
  std::mt19937 random(3);
  const auto times = random_tree(200, 0.05, true, random);
  for (const std::int64_t budget : {std::int64_t{0}, std::int64_t{150}, std::int64_t{900}}) {
    const auto result = survey([&](int a, int b) { return times.between(a, b); }, 200, budget);
    EXPECT_EQ(result.n_measured, budget);
  }
}

}  // namespace
}  // namespace tessera::machine
