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

/// Runs the requested experiments on parts of these hosts, in fair shares with up to `noise` more, and returns the
/// parts found.
std::vector<Part> found(const std::vector<int>& part_of, const std::vector<Medium>& media, double noise, unsigned seed,
                        int* n_done = nullptr) {
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
        const int a = part_of[static_cast<std::size_t>(from)];
        const int b = part_of[static_cast<std::size_t>(to)];
        const auto is_bus = [&](int part) {
          return media[static_cast<std::size_t>(part) % media.size()] == Medium::bus;
        };
        auto& path = wires.emplace_back(std::vector<int>{from, n + to});
        if (is_bus(a) || a != b) path.push_back(2 * (n + a));
        if (a != b) path.push_back(2 * (n + b) + (is_bus(b) ? 0 : 1));
      }
      for (const double time : fair_times(wires, 4 * n))
        experiment.together.push_back(time * experiment.alone[0] * factor(random));
      done.push_back(experiment);
    }
  }
  if (n_done) *n_done = static_cast<int>(done.size());
  return split_by_load(hosts, done);
}

Groups hosts_of(const std::vector<Part>& parts) {
  Groups groups;
  for (const auto& part : parts) groups.push_back(part.hosts);
  return groups;
}

const std::vector<Medium> switches{Medium::fabric}, buses{Medium::bus};  // all parts alike

TEST(FairTimes, AreMaxMin) {
  // These are one flow alone, then two that share a wire, of which one shares another wire with two more.
  EXPECT_EQ(fair_times({{0}}, 1), (std::vector<double>{1}));
  EXPECT_EQ(fair_times({{0}, {0}}, 1), (std::vector<double>{2, 2}));
  // Wire 1 gives a third to each of its flows, and wire 0 the other two thirds to the first. The first ends after 1.5,
  // and nothing changes on wire 1.
  const auto times = fair_times({{0}, {0, 1}, {1}, {1}}, 2);
  EXPECT_NEAR(times[0], 1.5, 1e-9);
  for (std::size_t f = 1; f < 4; ++f) EXPECT_NEAR(times[f], 3, 1e-9);
  EXPECT_TRUE(fair_times({}, 3).empty());
}

TEST(SplitByLoad, OneSwitchIsLeftWhole) {
  int n_done = 0;
  EXPECT_EQ(found(group_of_sizes({8}), switches, 0.15, 1, &n_done).size(), 1U);
  EXPECT_EQ(n_done, 7) << "explained at once";
  EXPECT_EQ(found(group_of_sizes({16}), switches, 0.3, 2).size(), 1U);
}

TEST(SplitByLoad, OneBusIsLeftWhole) {
  for (const int n : {4, 6, 9}) EXPECT_EQ(found(group_of_sizes({n}), buses, 0.15, 1).size(), 1U) << n;
}

TEST(SplitByLoad, SwitchesJoinedByACable) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    for (const auto& sizes : std::vector<std::vector<int>>{{5, 3}, {4, 4}, {6, 4, 3}})
      EXPECT_EQ(hosts_of(found(group_of_sizes(sizes), switches, 0.15, seed)), groups_of(group_of_sizes(sizes)))
          << sizes.size();
    const std::vector<int> alternating = {0, 1, 0, 1, 0, 1, 0, 1, 0};
    EXPECT_EQ(hosts_of(found(alternating, switches, 0.15, seed)), groups_of(alternating));
  }
}

TEST(SplitByLoad, SegmentsBehindABridge) {
  for (unsigned seed = 0; seed < 4; ++seed)
    for (const auto& sizes : std::vector<std::vector<int>>{{3, 3, 2}, {3, 3}, {5, 4, 4}})
      EXPECT_EQ(hosts_of(found(group_of_sizes(sizes), buses, 0.15, seed)), groups_of(group_of_sizes(sizes)))
          << sizes.size();
}

TEST(SplitByLoad, SwitchesBesideBuses) {
  const std::vector<Medium> media{Medium::bus, Medium::fabric, Medium::bus};
  const auto part_of = group_of_sizes({3, 7, 5});
  for (unsigned seed = 0; seed < 4; ++seed) {
    const auto parts = found(part_of, media, 0.15, seed);
    ASSERT_EQ(hosts_of(parts), groups_of(part_of));
    for (std::size_t p = 0; p < parts.size(); ++p) EXPECT_EQ(parts[p].medium, media[p]) << p;
  }
}

TEST(SplitByLoad, DisturbedExperimentsAreLeftOut) {
  const std::vector<int> hosts = {0, 1, 2, 3};
  // There are two buses at first; then the flows take twice as long as one after another, which no wires explain.
  std::vector<Experiment> done = {{{{0, 1}, {2, 3}}, 1, {1, 1}, {1, 1}},
                                  {{{0, 2}, {1, 3}}, 1, {1, 1}, {2, 2}},
                                  {{{0, 1}, {1, 0}}, 1, {1, 1}, {2, 2}},
                                  {{{2, 3}, {3, 2}}, 1, {1, 1}, {2, 2}}};
  EXPECT_EQ(hosts_of(split_by_load(hosts, done)), (Groups{{0, 1}, {2, 3}}));
  for (int i = 0; i < 10; ++i) done.push_back({{{0, 1}, {2, 3}}, 1, {1, 1}, {4, 4}});
  EXPECT_EQ(hosts_of(split_by_load(hosts, done)), (Groups{{0, 1}, {2, 3}}));
}

TEST(SplitByLoad, TooFewHostsTellNothing) {
  EXPECT_TRUE(load_experiments({0, 1, 2}, {1e-4, 1e6}, {}, 0.25).empty());
  EXPECT_EQ(hosts_of(split_by_load({4, 7, 9}, {})), (Groups{{4, 7, 9}}));
  EXPECT_EQ(split_by_load({0, 1, 2, 3}, {}).size(), 1U) << "nothing was done";
}

}  // namespace
}  // namespace tessera::machine
