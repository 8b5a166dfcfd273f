#include "tessera/machine/survey/contention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/machine/survey/contention_results.h"
#include "tessera/machine/survey/derive_network.h"
#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

using test::measure;
using test::run;
using test::tree_of_racks;

int n_experiments(const std::vector<Experiment>& experiments, std::size_t n_flows) {
  return static_cast<int>(std::count_if(experiments.begin(), experiments.end(),
                                        [&](const Experiment& e) { return e.flows.size() == n_flows; }));
}

/// Derives the network again from a survey, with experiments run on the wires of the true network.
Network survey(const Network& truth) {
  auto measurements = measure(truth, {1, 1500, 16384, 131072});
  int n_rounds = 0;
  for (auto wanted = contention_experiments(measurements, derive_network(measurements));
       !wanted.empty() && n_rounds < 5; ++n_rounds) {
    for (auto& experiment : wanted) {
      run(truth, experiment);
      measurements.experiments.push_back(experiment);
    }
    wanted = contention_experiments(measurements, derive_network(measurements));
  }
  EXPECT_LT(n_rounds, 5);
  return derive_network(measurements);
}

TEST(Contention, SegmentsAreBuses) {
  auto truth = tree_of_racks({3, 3, 2}, {1e-3, 1.25e6}, {2.4e-3, 1.2e6});
  for (std::size_t s = 1; s < 4; ++s) truth.subnets[s].medium = Medium::bus;
  const auto found = survey(truth);
  ASSERT_EQ(test::leaves_of(found.subnets), test::leaves_of(truth.subnets));
  for (std::size_t s = 1; s < 4; ++s) {
    EXPECT_EQ(found.subnets[s].medium, Medium::bus) << s;
    // Everything that leaves a bus uses it.
    ASSERT_TRUE(found.subnets[s].uplink.has_value());
    EXPECT_NEAR(*found.subnets[s].uplink, 1.25e6, 0.1e6);
  }
  EXPECT_EQ(found.subnets[0].medium, Medium::unknown) << "three parts can't tell";
}

TEST(Contention, ReckonsWithWhatIsNotKnown) {
  auto network = tree_of_racks({4, 4}, {0, 1e8}, {0, 1e7});
  const Experiment crossing{{{0, 4}, {1, 5}, {2, 6}}, 1'000'000, {}, {}, 0},
      inside{{{0, 1}, {2, 3}}, 1'000'000, {}, {}};
  for (auto& subnet : network.subnets) subnet.medium = Medium::unknown;
  EXPECT_NEAR(most_seconds(crossing, network), 0.3, 1e-9) << "one after the other";
  EXPECT_NEAR(most_seconds(inside, network), 0.02, 1e-9);
  for (auto& subnet : network.subnets) subnet.medium = Medium::fabric;
  EXPECT_NEAR(most_seconds(inside, network), 0.01, 1e-9);
  EXPECT_NEAR(most_seconds(crossing, network), 0.3, 1e-9) << "an uplink may be as thin as a port";
  for (std::size_t s = 1; s < 3; ++s) network.subnets[s].uplink = 2e7;
  EXPECT_NEAR(most_seconds(crossing, network), 0.15, 1e-9);
}

TEST(Contention, ThinUplinksAreFound) {
  auto truth = tree_of_racks({4, 6}, {50e-6, 125e6}, {100e-6, 12.5e6});
  truth.subnets[1].uplink = truth.subnets[2].uplink = 12.5e6;
  const auto found = survey(truth);
  ASSERT_EQ(test::leaves_of(found.subnets), test::leaves_of(truth.subnets));
  for (std::size_t s = 1; s < 3; ++s) {
    EXPECT_EQ(found.subnets[s].medium, Medium::fabric);
    ASSERT_TRUE(found.subnets[s].uplink.has_value());
    EXPECT_NEAR(*found.subnets[s].uplink, 12.5e6, 0.02 * 12.5e6);
  }
}

TEST(Contention, WideUplinksAreNoLimit) {
  // Between the groups every host has a slow port of its own, as in CROW8's 100+1000 network.
  const auto truth = tree_of_racks({4, 4, 4, 4}, {60e-6, 12.5e6}, {100e-6, 1.25e6});
  const auto found = survey(truth);
  ASSERT_EQ(found.subnets.size(), 5U);
  for (std::size_t s = 1; s < 5; ++s) EXPECT_FALSE(found.subnets[s].uplink.has_value());
  for (const auto& subnet : found.subnets) EXPECT_EQ(subnet.medium, Medium::fabric);
}

/// Uses ECO's two networks, where a single message takes as long between the parts as inside them.
TEST(Contention, PartsThatPairsDontShow) {
  auto switches = tree_of_racks({5, 3}, {2e-4, 1.2e6}, {2e-4, 1.2e6});
  for (std::size_t s = 1; s < 3; ++s) switches.subnets[s].uplink = 1.2e6;
  const auto found = survey(switches);
  ASSERT_EQ(test::leaves_of(found.subnets), test::leaves_of(switches.subnets));
  for (std::size_t s = 1; s < 3; ++s) {
    EXPECT_EQ(found.subnets[s].medium, Medium::fabric);
    ASSERT_TRUE(found.subnets[s].uplink.has_value());
    EXPECT_NEAR(*found.subnets[s].uplink, 1.2e6, 0.02e6);
  }

  auto segments = tree_of_racks({3, 3, 2}, {2e-4, 1.2e6}, {2e-4, 1.2e6});
  for (std::size_t s = 1; s < 4; ++s) segments.subnets[s].medium = Medium::bus;
  const auto buses = survey(segments);
  ASSERT_EQ(test::leaves_of(buses.subnets), test::leaves_of(segments.subnets));
  for (std::size_t s = 1; s < 4; ++s) EXPECT_EQ(buses.subnets[s].medium, Medium::bus);
}

TEST(Contention, ASharedBackboneIsABus) {
  auto truth = tree_of_racks({3, 3, 3, 3}, {60e-6, 12.5e6}, {100e-6, 1.25e6});
  truth.subnets[0].medium = Medium::bus;
  EXPECT_EQ(survey(truth).subnets[0].medium, Medium::bus);
}

/// Hosts 1 to 8 of nine are containers on one node, whose processors need this long for an end of a message.
TEST(Contention, ProcessorsThatHostsShare) {
  const auto truth = tree_of_racks({9}, {60e-6, 12.5e6}, {60e-6, 12.5e6});
  const auto found = [&](const Link& work) {
    auto measurements = measure(truth, {1, 100000});
    for (std::size_t h = 0; h < 9; ++h) measurements.hosts[h].kernel = h == 0 ? 0 : 1;
    int n_asked = 0;
    for (auto wanted = contention_experiments(measurements, derive_network(measurements)); !wanted.empty();
         wanted = contention_experiments(measurements, derive_network(measurements)))
      for (auto& experiment : wanted) {
        if (experiment.piece == 0) {
          run(truth, experiment);
          measurements.experiments.push_back(experiment);
          continue;
        }
        ++n_asked;
        EXPECT_EQ(experiment.flows.size(), 8U);
        const auto bytes = static_cast<double>(experiment.bytes);
        const double n_messages = bytes / static_cast<double>(experiment.piece);
        const double seconds = std::max(experiment.alone[0], 16 * (n_messages * work.latency + bytes / work.bandwidth));
        experiment.together.assign(8, seconds);
        measurements.experiments.push_back(experiment);
      }
    EXPECT_EQ(n_asked, 2);
    return derive_network(measurements).processors;
  };
  const Link work{50e-6, 1e8};
  const auto shared = found(work);
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_EQ(shared[0].hosts, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_NEAR(shared[0].work.latency, work.latency, 1e-9);
  EXPECT_NEAR(shared[0].work.bandwidth, work.bandwidth, 1);
  EXPECT_TRUE(found({1e-7, 1e9}).empty()) << "the wires are the limit";
}

TEST(Contention, AsksForWhatCanTell) {
  const auto of = [](const std::vector<int>& sizes) {
    const auto measurements = measure(tree_of_racks(sizes, {50e-6, 1e8}, {1e-4, 1e7}), {1, 100000});
    auto wanted = contention_experiments(measurements, derive_network(measurements));
    std::erase_if(wanted, [](const Experiment& e) { return !e.alone.empty(); });  // leaves out those of split_by_load
    return wanted;
  };
  const auto two_racks = of({6, 3});
  // These are the media of the two leaves, and the uplinks with three hosts on either side.
  ASSERT_EQ(two_racks.size(), 4U);
  EXPECT_EQ(n_experiments(two_racks, 2), 2);
  EXPECT_EQ(n_experiments(two_racks, 3), 2);
  for (const auto& experiment : two_racks) {
    std::vector<int> from;
    for (const auto& flow : experiment.flows) from.push_back(flow.from);
    std::sort(from.begin(), from.end());
    EXPECT_EQ(std::unique(from.begin(), from.end()), from.end()) << "every host sends once";
  }
  EXPECT_EQ(n_experiments(of({20, 20}), 16), 2);  // no more than 16 at once
  EXPECT_TRUE(of({1}).empty());
  // The flow takes 0.25 s at the link's rate.
  EXPECT_NEAR(static_cast<double>(of({4})[0].bytes), 0.25e8, 0.01e8);
}

TEST(Contention, WhatCantTellSaysNothing) {
  auto network = tree_of_racks({4}, {50e-6, 1e8}, {1e-4, 1e7});
  network.subnets[0].medium = Medium::unknown;
  Experiment experiment{{{0, 1}, {2, 3}}, 1 << 20, {0.1, 0.1}, {0.1, 0.145}};
  add_contention(network, {experiment});  // neither twice the time nor the same
  EXPECT_EQ(network.subnets[0].medium, Medium::unknown);
  experiment.together.clear();
  add_contention(network, {experiment});
  EXPECT_EQ(network.subnets[0].medium, Medium::unknown);
  experiment.together = {0.1, 0.11};
  add_contention(network, {experiment});
  EXPECT_EQ(network.subnets[0].medium, Medium::fabric);

  // Both flows use rack 0, so they may share its own bus.
  auto racks = tree_of_racks({2, 2, 2}, {50e-6, 1e8}, {1e-4, 1e7});
  racks.subnets[0].medium = Medium::unknown;
  add_contention(racks, {{{{0, 2}, {4, 1}}, 1 << 20, {0.1, 0.1}, {0.2, 0.2}}});
  EXPECT_EQ(racks.subnets[0].medium, Medium::unknown);
}

}  // namespace
}  // namespace tessera::machine
