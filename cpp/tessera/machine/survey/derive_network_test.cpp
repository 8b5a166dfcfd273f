#include "tessera/machine/survey/derive_network.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "tessera/base/error.h"
#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

using test::group_of_sizes;
using test::groups_of;
using test::leaves_of;
using test::measure;
using test::tree_of_racks;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

TEST(FitLink, FindsLatencyAndBandwidth) {
  const std::array<std::int64_t, 4> sizes = {1, 1500, 16384, 131072};
  const auto fit = [&](std::array<double, 4> seconds) { return fit_link(sizes, seconds); };
  const Link link = {1e-4, 1e7};
  const auto exact = fit({link.time(1), link.time(1500), link.time(16384), link.time(131072)});
  ASSERT_TRUE(exact.has_value());
  EXPECT_NEAR(exact->latency, 1e-4, 1e-10);
  EXPECT_NEAR(exact->bandwidth, 1e7, 1);
  const auto partly = fit({link.time(1), unknown, unknown, link.time(131072)});
  EXPECT_NEAR(partly->latency, 1e-4, 1e-10);
  EXPECT_NEAR(partly->bandwidth, 1e7, 1);
  // Longer messages in less time must give a latency and no negative bandwidth.
  const auto flat = fit({1e-4, 9e-5, 8e-5, 8e-5});
  EXPECT_GT(flat->bandwidth, 0);
  EXPECT_GE(flat->latency, 0);
  const auto steep = fit({1e-9, 1e-3, 1e-2, 1e-1});
  EXPECT_GE(steep->latency, 0);
  EXPECT_FALSE(fit({unknown, unknown, unknown, unknown}).has_value());
  EXPECT_NEAR(fit({unknown, unknown, unknown, 0.1})->bandwidth, 1310720, 1);
  // The times were measured on 10 Mbit/s (1.177e6 bytes/s of payload) behind a token bucket that lets two frames pass
  // at once. The tolerance is 2 % because the longest message includes them too.
  const auto burst = fit({2.62e-4, 2.79e-4, 1.22e-2, 1.097e-1});
  EXPECT_NEAR(burst->bandwidth, 1.177e6, 0.02 * 1.177e6);
  EXPECT_NEAR(burst->latency, 2.62e-4, 1e-6);
}

TEST(DeriveNetwork, TwoRacks) {
  auto truth = tree_of_racks({4, 3}, {50e-6, 1.17e8}, {90e-6, 1.17e7});
  const auto found = derive_network(measure(truth, {1, 1500, 16384, 131072}));
  ASSERT_EQ(found.subnets.size(), 3U);
  EXPECT_EQ(found.hosts.size(), 7U);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(found.subnets[s].hosts, truth.subnets[s].hosts);
    EXPECT_NEAR(found.subnets[s].link.latency, truth.subnets[s].link.latency, 1e-9);
    EXPECT_NEAR(found.subnets[s].link.bandwidth / truth.subnets[s].link.bandwidth, 1, 1e-6);
    EXPECT_EQ(found.subnets[s].medium, Medium::unknown);
  }
  ASSERT_TRUE(found.hosts[2].inside.has_value());
  EXPECT_NEAR(found.hosts[2].inside->bandwidth / truth.hosts[2].inside->bandwidth, 1, 1e-6);
}

/// One more switch delays a short message by its store and forward, and long ones hardly; a thin link delays long
/// messages alone. Each must be found even if the other is absent.
TEST(DeriveNetwork, SplitsAtAnySize) {
  const auto group_of = group_of_sizes({3, 3, 4});
  auto measurements = measure(tree_of_racks({3, 3, 4}, {1e-3, 1e6}, {1e-3, 1e6}), {1, 1500, 131072});
  ASSERT_EQ(leaves_of(derive_network(measurements).subnets).size(), 1U);
  const auto lengthen = [&](std::size_t size, int group, double factor) {
    for (int a = 0; a < 10; ++a)
      for (int b = 0; b < 10; ++b)
        if ((group_of[static_cast<std::size_t>(a)] == group) != (group_of[static_cast<std::size_t>(b)] == group))
          measurements.times[size].at(a, b) *= factor;
  };
  lengthen(1, 0, 1.35);  // group 0 is behind a further switch
  EXPECT_EQ(leaves_of(derive_network(measurements).subnets), (test::Groups{{0, 1, 2}, {3, 4, 5, 6, 7, 8, 9}}));
  lengthen(2, 2, 5);  // group 2 is behind a thin link
  EXPECT_EQ(leaves_of(derive_network(measurements).subnets), groups_of(group_of));
}

TEST(DeriveNetwork, NoiseSplitsNothing) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    auto measurements = measure(tree_of_racks({5, 4, 6}, {1e-4, 1e8}, {2e-4, 2e7}), {1, 1500, 16384, 131072});
    // Short messages scatter, because of sleeping cores and interrupts.
    test::add_noise(measurements.times[0], 0.9, random);
    for (std::size_t k = 1; k < 4; ++k) test::add_noise(measurements.times[k], 0.08, random);
    const auto found = derive_network(measurements);
    EXPECT_EQ(leaves_of(found.subnets), groups_of(group_of_sizes({5, 4, 6}))) << trial;
    EXPECT_NEAR(found.subnets[0].link.bandwidth, 2e7, 0.1 * 2e7);
  }
}

TEST(DeriveNetwork, NeedsTimes) {
  const std::vector<MeasuredHost> two = {{"a", 1, {0}, {}}, {"b", 1, {1}, {}}};
  EXPECT_THROW(derive_network(Measurements::of(two, {1, 100})), InputError);
  EXPECT_THROW(derive_network(Measurements::of(two, {})), InputError);
  EXPECT_THROW(derive_network(Measurements{}), InputError);
  const auto alone = derive_network(Measurements::of({two[0]}, {1, 100}));
  EXPECT_EQ(alone.subnets.size(), 1U);
  EXPECT_FALSE(alone.hosts[0].inside.has_value());
}

}  // namespace
}  // namespace tessera::machine
