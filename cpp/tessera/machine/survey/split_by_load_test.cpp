#include "tessera/machine/survey/split_by_load.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

using test::group_of_sizes;
using test::Groups;
using test::groups_of;

enum class Made { of_switches, of_buses };

/// Does what is asked on parts of these hosts, in fair shares with up to `noise` more.
Groups found(const std::vector<int>& part_of, Made made, double noise, unsigned seed, int* n_done = nullptr) {
  const int n = static_cast<int>(part_of.size());
  std::vector<int> hosts(part_of.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> factor(1, 1 + noise);
  std::vector<Experiment> done;
  for (;;) {
    const auto wanted = load_experiments(hosts, {1e-4, 1e6}, done, 0.25);
    if (wanted.empty()) break;
    for (auto experiment : wanted) {
      std::vector<std::vector<int>> wires;
      for (const auto& [from, to] : experiment.flows) {
        const int a = 2 * (n + part_of[static_cast<std::size_t>(from)]);
        const int b = 2 * (n + part_of[static_cast<std::size_t>(to)]);
        auto& path = wires.emplace_back(std::vector<int>{from, n + to});
        if (made == Made::of_buses) path.push_back(a);
        if (made == Made::of_buses && a != b) path.push_back(b);
        if (made == Made::of_switches && a != b) path.insert(path.end(), {a, b + 1});
      }
      for (const double time : fair_times(wires, 4 * n))
        experiment.together.push_back(time * experiment.alone[0] * factor(random));
      done.push_back(experiment);
    }
  }
  if (n_done) *n_done = static_cast<int>(done.size());
  return split_by_load(hosts, done);
}

TEST(FairTimes, AreMaxMin) {
  // One flow alone; two that share a wire, of which one shares another wire with two more.
  EXPECT_EQ(fair_times({{0}}, 1), (std::vector<double>{1}));
  EXPECT_EQ(fair_times({{0}, {0}}, 1), (std::vector<double>{2, 2}));
  // Wire 1 gives a third to each of its flows, wire 0 the other two thirds to the first; when that is over, after 1.5,
  // nothing changes on wire 1.
  const auto times = fair_times({{0}, {0, 1}, {1}, {1}}, 2);
  EXPECT_NEAR(times[0], 1.5, 1e-9);
  for (std::size_t f = 1; f < 4; ++f) EXPECT_NEAR(times[f], 3, 1e-9);
  EXPECT_TRUE(fair_times({}, 3).empty());
}

TEST(SplitByLoad, OneSwitchIsLeftWhole) {
  int n_done = 0;
  EXPECT_EQ(found(group_of_sizes({8}), Made::of_switches, 0.15, 1, &n_done).size(), 1U);
  EXPECT_EQ(n_done, 7) << "explained at once";
  EXPECT_EQ(found(group_of_sizes({16}), Made::of_switches, 0.3, 2).size(), 1U);
}

TEST(SplitByLoad, OneBusIsLeftWhole) {
  for (const int n : {4, 6, 9}) EXPECT_EQ(found(group_of_sizes({n}), Made::of_buses, 0.15, 1).size(), 1U) << n;
}

TEST(SplitByLoad, SwitchesJoinedByACable) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    for (const auto& sizes : std::vector<std::vector<int>>{{5, 3}, {4, 4}, {6, 4, 3}})
      EXPECT_EQ(found(group_of_sizes(sizes), Made::of_switches, 0.15, seed), groups_of(group_of_sizes(sizes)))
          << sizes.size();
    const std::vector<int> alternating = {0, 1, 0, 1, 0, 1, 0, 1, 0};
    EXPECT_EQ(found(alternating, Made::of_switches, 0.15, seed), groups_of(alternating));
  }
}

TEST(SplitByLoad, SegmentsBehindABridge) {
  for (unsigned seed = 0; seed < 4; ++seed)
    for (const auto& sizes : std::vector<std::vector<int>>{{3, 3, 2}, {3, 3}, {5, 4, 4}})
      EXPECT_EQ(found(group_of_sizes(sizes), Made::of_buses, 0.15, seed), groups_of(group_of_sizes(sizes)))
          << sizes.size();
}

TEST(SplitByLoad, DisturbedExperimentsAreLeftOut) {
  const std::vector<int> hosts = {0, 1, 2, 3};
  // Two buses; then twice as long as even one flow after another would take, which no wires explain.
  std::vector<Experiment> done = {{{{0, 1}, {2, 3}}, 1, {1, 1}, {1, 1}},
                                  {{{0, 2}, {1, 3}}, 1, {1, 1}, {2, 2}},
                                  {{{0, 1}, {1, 0}}, 1, {1, 1}, {2, 2}},
                                  {{{2, 3}, {3, 2}}, 1, {1, 1}, {2, 2}}};
  EXPECT_EQ(split_by_load(hosts, done), (Groups{{0, 1}, {2, 3}}));
  for (int i = 0; i < 10; ++i) done.push_back({{{0, 1}, {2, 3}}, 1, {1, 1}, {4, 4}});
  EXPECT_EQ(split_by_load(hosts, done), (Groups{{0, 1}, {2, 3}}));
}

TEST(SplitByLoad, TooFewHostsTellNothing) {
  EXPECT_TRUE(load_experiments({0, 1, 2}, {1e-4, 1e6}, {}, 0.25).empty());
  EXPECT_EQ(split_by_load({4, 7, 9}, {}), (Groups{{4, 7, 9}}));
  EXPECT_EQ(split_by_load({0, 1, 2, 3}, {}).size(), 1U) << "nothing was done";
}

}  // namespace
}  // namespace tessera::machine
