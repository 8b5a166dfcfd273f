#include "tessera/machine/routes/find_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

using test::tree_of_racks;

constexpr Link link{1e-6, 1e9};

/// Returns all patterns on the wires of this network, with the slowest flow of each longer by up to `noise`.
std::vector<Experiment> measured(const Network& truth, double noise = 0) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> factor(1, 1 + noise);
  std::vector<Experiment> done;
  for (const auto& flows : route_patterns(static_cast<int>(truth.hosts.size()))) {
    Experiment experiment{flows, 1 << 26, std::vector<double>(flows.size(), link.time(1 << 26)), {}};
    test::run(truth, experiment);
    for (auto& seconds : experiment.together) seconds *= factor(random);
    done.push_back(experiment);
  }
  return done;
}

TEST(FindRoutes, PatternsArePermutationsWithoutFixedPoints) {
  const auto patterns = route_patterns(48);
  ASSERT_EQ(patterns.size(), 6u + 8u);
  for (const auto& flows : patterns) {
    std::set<int> from, to;
    for (const auto& flow : flows) {
      EXPECT_NE(flow.from, flow.to);
      from.insert(flow.from);
      to.insert(flow.to);
    }
    EXPECT_EQ(from.size(), 48u);
    EXPECT_EQ(to.size(), 48u);
  }
  EXPECT_EQ(patterns, route_patterns(48));
}

TEST(FindRoutes, ToriOfAnyShapeAreFound) {
  for (const auto& shape : {std::vector{4, 4, 4}, {2, 4, 8}, {8, 4, 2}, {1, 8, 8}, {3, 4, 5}}) {
    int n = 1;
    for (const int k : shape) n *= k;
    auto truth = tree_of_racks({n}, link, link);
    truth.routes = Routes{Routes::Kind::torus, shape, link.bandwidth};
    const auto found = find_routes(tree_of_racks({n}, link, link), measured(truth, 0.05));
    ASSERT_TRUE(found) << n;
    EXPECT_EQ(found->kind, Routes::Kind::torus);
    EXPECT_EQ(found->shape, shape);
  }
}

TEST(FindRoutes, TreesOfTheLeavesAreFound) {
  const auto known = tree_of_racks({8, 8, 8, 8, 8, 8}, link, link);
  auto truth = known;
  truth.routes = Routes{Routes::Kind::tree, {8, 8}, link.bandwidth};
  EXPECT_EQ(find_routes(known, measured(truth)), truth.routes);
  // Half of the ports up are missing, which the survey has seen as thin uplinks.
  auto thin = known;
  for (std::size_t s = 1; s < thin.subnets.size(); ++s) thin.subnets[s].uplink = 4 * link.bandwidth;
  truth.routes->shape = {8, 4};
  EXPECT_EQ(find_routes(thin, measured(truth)), truth.routes);
}

TEST(FindRoutes, WhatOneSwitchOrNothingKnownExplainsHasNone) {
  const auto flat = tree_of_racks({40}, link, link);
  EXPECT_EQ(find_routes(flat, measured(flat)), std::nullopt);
  auto strange = measured(flat);
  for (std::size_t i = 0; i < strange.size(); ++i)
    for (auto& seconds : strange[i].together) seconds *= i % 2 == 0 ? 20 : 1;
  EXPECT_EQ(find_routes(flat, strange), std::nullopt);
  const auto plain = tree_of_racks({64}, link, link);
  auto torus = plain;
  torus.routes = Routes{Routes::Kind::torus, {4, 4, 4}, link.bandwidth};
  auto incomplete = measured(torus);
  incomplete.pop_back();
  EXPECT_EQ(find_routes(plain, incomplete), std::nullopt);
  const auto few = tree_of_racks({16}, link, link);
  EXPECT_EQ(find_routes(few, measured(few)), std::nullopt);
}

}  // namespace
}  // namespace tessera::machine
