#include "tessera/machine/partition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

using test::add_noise;
using test::group_of_sizes;
using test::Groups;
using test::groups_of;
using test::times_of_groups;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Returns text like the tree of a network: "((0 1) (2 3))".
std::string text_of(const std::vector<Subnet>& tree, int at = 0) {
  const auto& subnet = tree[static_cast<std::size_t>(at)];
  std::string text = "(";
  for (const int host : subnet.hosts) text += (text.size() > 1 ? " " : "") + std::to_string(host);
  for (const int part : subnet.subnets) text += (text.size() > 1 ? " " : "") + text_of(tree, part);
  return text + ")";
}

void expect_sound(const TimeMatrix& times, const std::vector<Subnet>& tree) {
  Network network;
  for (int h = 0; h < times.n_hosts(); ++h) network.hosts.push_back({"h" + std::to_string(h), 1, std::nullopt});
  network.subnets = tree;
  for (auto& subnet : network.subnets) {
    subnet.link = {1e-4, 1e8};
    EXPECT_NE(subnet.subnets.size(), 1U) << "a subnet with one part says nothing";
  }
  EXPECT_NO_THROW(network.check("tree"));
}

TEST(Partition, Figure1) {
  const std::vector<int> group_of = {0, 1, 2, 1, 0, 2};  // as in the test of Table 1
  const auto times = times_of_groups(group_of, {1, 1, 1}, [](int g, int k) { return 1 + 2 * std::abs(g - k); });
  EXPECT_EQ(partition(times), (Groups{{0, 4}, {1, 3}, {2, 5}}));
  // The middle subnet reaches both others within the tolerance, so no higher level separates the three.
  const auto tree = hierarchy(times);
  expect_sound(times, tree);
  EXPECT_EQ(text_of(tree), "((0 4) (1 3) (2 5))");
}

/// Times three Ethernet segments on one bridge: 16 kB take 13 ms inside a segment and occupy the wire twice across the
/// bridge.
TEST(Partition, ThreeBridgedSegments) {
  const auto group_of = group_of_sizes({3, 3, 2});
  auto times = times_of_groups(group_of, {13.1, 13.1, 13.1}, [](int, int) { return 15.9; });
  std::mt19937 random(1);
  add_noise(times, 0.03, random);
  EXPECT_EQ(partition(times), groups_of(group_of));
  EXPECT_EQ(text_of(hierarchy(times)), "((0 1 2) (3 4 5) (6 7))");
}

/// Uses the 20 machines of Table 7: six Alphas on two bridged Ethernets, five PowerPCs on an Ethernet, two Alphas on
/// switched FDDI, seven INDYs on switched Ethernet, and a router between the four kinds. Times are the milliseconds of
/// 16 kB.
TEST(Partition, TwentyMachinesOfTable7) {
  const auto group_of = group_of_sizes({3, 3, 5, 2, 7});
  auto times = times_of_groups(group_of, {13.1, 13.1, 13.3, 1.7, 14.2}, [](int g, int k) {
    if (g < 2 && k < 2) return 16.5;
    return 27.0;
  });
  std::mt19937 random(2);
  add_noise(times, 0.04, random);
  EXPECT_EQ(partition(times), groups_of(group_of));
  const auto tree = hierarchy(times);
  expect_sound(times, tree);
  EXPECT_EQ(text_of(tree), "(((0 1 2) (3 4 5)) (6 7 8 9 10) (11 12) (13 14 15 16 17 18 19))");
}

TEST(Partition, RacksInRoomsHaveThreeLevels) {
  std::vector<int> group_of;  // 2 rooms of 3 racks of 4
  for (int rack = 0; rack < 6; ++rack) group_of.insert(group_of.end(), 4, rack);
  auto times =
      times_of_groups(group_of, std::vector<double>(6, 10), [](int g, int k) { return g / 3 == k / 3 ? 20 : 50; });
  std::mt19937 random(3);
  add_noise(times, 0.05, random);
  const auto tree = hierarchy(times);
  expect_sound(times, tree);
  EXPECT_EQ(text_of(tree), "(((0 1 2 3) (4 5 6 7) (8 9 10 11)) ((12 13 14 15) (16 17 18 19) (20 21 22 23)))");
}

TEST(Partition, AFewBadMeasurementsDoNoHarm) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 50; ++trial) {
    const auto group_of = group_of_sizes({6, 5, 8, 4});
    auto times = times_of_groups(group_of, {10, 10, 12, 8}, [](int, int) { return 20; });
    add_noise(times, 0.05, random);
    std::bernoulli_distribution is_bad(0.05);
    std::uniform_real_distribution<double> factor(1.5, 30);
    for (int a = 0; a < times.n_hosts(); ++a)
      for (int b = a + 1; b < times.n_hosts(); ++b)
        if (is_bad(random)) times.set_both(a, b, times.between(a, b) * factor(random));
    EXPECT_EQ(partition(times), groups_of(group_of)) << "trial " << trial;
  }
}

TEST(Partition, IsTheSameForAnyOrderOfHosts) {
  std::mt19937 random(5);
  const auto group_of = group_of_sizes({5, 4, 6, 1});
  auto times = times_of_groups(group_of, {10, 14, 3, 1}, [](int, int) { return 18; });
  add_noise(times, 0.15, random);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<int> order(group_of.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    TimeMatrix shuffled(times.n_hosts());
    for (int a = 0; a < times.n_hosts(); ++a)
      for (int b = 0; b < times.n_hosts(); ++b)
        shuffled.at(a, b) = times.at(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
    Groups named;
    for (const auto& group : partition(shuffled)) {
      named.emplace_back();
      for (const int host : group) named.back().push_back(order[static_cast<std::size_t>(host)]);
      std::sort(named.back().begin(), named.back().end());
    }
    std::sort(named.begin(), named.end());
    EXPECT_EQ(named, groups_of(group_of));
  }
}

TEST(Partition, DirectionsMayDifferAndPairsMayLack) {
  TimeMatrix times(5);
  times.at(0, 1) = 1;
  times.at(1, 0) = 9;  // disturbed; the lesser direction counts
  times.at(2, 3) = 1.1;
  times.at(1, 2) = 2;
  EXPECT_EQ(partition(times), (Groups{{0, 1}, {2, 3}, {4}}));
  const auto tree = hierarchy(times);
  expect_sound(times, tree);
  EXPECT_EQ(text_of(tree), "(((0 1) (2 3)) (4))");  // no time of 4 is known, so it is beside the rest under a root
}

TEST(Partition, TheToleranceIsARule) {
  TimeMatrix times(3);
  times.set_both(0, 1, 1);
  times.set_both(1, 2, 1.2);
  times.set_both(0, 2, 1.3);
  EXPECT_EQ(partition(times), (Groups{{0, 1, 2}}));
  times.set_both(1, 2, 1.21);
  EXPECT_EQ(partition(times), (Groups{{0, 1}, {2}}));
  EXPECT_EQ(partition(times, 1.25), (Groups{{0, 1, 2}}));
  TimeMatrix chain(4);  // each is near enough to the next, but the subnet of 2 has its least time from 0 and 1
  chain.set_both(0, 1, 1);
  chain.set_both(1, 2, 1.15);
  chain.set_both(2, 3, 1.3);
  EXPECT_EQ(partition(chain), (Groups{{0, 1, 2}, {3}}));
}

TEST(Partition, OneAndTwoHosts) {
  EXPECT_EQ(partition(TimeMatrix(1)), (Groups{{0}}));
  EXPECT_EQ(text_of(hierarchy(TimeMatrix(1))), "(0)");
  TimeMatrix two(2);
  EXPECT_EQ(text_of(hierarchy(two)), "((0) (1))");
  two.at(0, 1) = 5;
  EXPECT_EQ(text_of(hierarchy(two)), "(0 1)");
  EXPECT_TRUE(partition(TimeMatrix(0)).empty());
  EXPECT_TRUE(hierarchy(TimeMatrix(0)).empty());
  EXPECT_TRUE(std::isnan(TimeMatrix(2).between(0, 1)));
  EXPECT_EQ(two.between(1, 0), 5);
  two.at(1, 0) = unknown;
  EXPECT_EQ(two.between(1, 0), 5);
}

TEST(Partition, AThousandHosts) {
  std::vector<int> group_of(1000);
  for (std::size_t h = 0; h < group_of.size(); ++h) group_of[h] = static_cast<int>(h % 25);
  auto times =
      times_of_groups(group_of, std::vector<double>(25, 10), [](int g, int k) { return g / 5 == k / 5 ? 20 : 40; });
  std::mt19937 random(6);
  add_noise(times, 0.1, random);
  const auto tree = hierarchy(times);
  EXPECT_EQ(test::leaves_of(tree), groups_of(group_of));
  EXPECT_EQ(tree.size(), 1U + 5U + 25U);
}

}  // namespace
}  // namespace tessera::machine
