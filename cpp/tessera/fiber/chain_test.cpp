#include "tessera/fiber/chain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/fiber/draws.h"

namespace tessera::fiber {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Model model_of(std::size_t n) {
  const Kind bead = {{{{0, 0, 5}, -3.0}, {{0, 0, -5}, -3.0}}, {{0, 0, 0}}};
  const Kind core = {{{{30, 0, 0}, -5.0}, {{-30, 0, 0}, -4.0}, {{0, 30, 10}, 2.0}},
                     {{20, 0, 0}, {-20, 0, 0}, {0, 20, 0}}};
  const Springs springs = {30, 0.1, 0.2, 10, 20};
  Model model = {{bead, core}, {}, {}, Screened(7, 0.05, 120), 20, infinite, infinite};
  for (std::size_t i = 0; i < n; ++i) model.kind.push_back(i % 4 == 0 ? 1 : 0);
  const Frame out = {{0, 0, 10}, turn({0, 1, 0}, 0.3)}, in = {{0, 3, -10}, turn({1, 0, 0}, 0.2)};
  for (std::size_t i = 0; i + 1 < n; ++i)
    model.steps.push_back({i % 4 == 0 ? out : Frame{}, i % 4 == 3 ? in : Frame{}, springs});
  for (std::size_t i = 0; i < n; ++i) model.anchors.push_back({{10.0 * i, 0, 0}, i % 3 * 0.01});
  return model;
}

/// Returns a chain whose nodes are near each other at random.
Chain scattered(std::size_t n, std::uint64_t seed, double size = 150) {
  Chain chain(model_of(n));
  Draws draws(seed, 0);
  for (std::size_t node = 0; node < n; ++node) {
    const Vec3 at = {draws.within(size), draws.within(size), draws.within(size)};
    chain.place(node, {at, turn(draws.direction(), draws.within(3))});
  }
  return chain;
}

Vec3 place_of(const Chain& chain, std::size_t node, const Vec3& local) { return chain.frame(node) * local; }

/// Returns the energy of all charges, by the formula.
double screened_directly(const Chain& chain) {
  const Model& model = chain.model();
  double sum = 0;
  for (std::size_t i = 0; i < chain.size(); ++i)
    for (std::size_t j = i + 2; j < chain.size(); ++j)
      for (const Charge& a : model.kinds[model.kind[i]].charges)
        for (const Charge& b : model.kinds[model.kind[j]].charges) {
          const double r = norm(place_of(chain, i, a.place) - place_of(chain, j, b.place));
          const auto energy = [](double x) { return 7 * std::exp(-0.05 * x) / x; };
          if (r < 120) sum += a.value * b.value * (energy(std::fmax(r, Screened::nearest)) - energy(120));
        }
  return sum;
}

double elastic(const Chain& chain) {
  double sum = 0;
  for (std::size_t at = 0; at + 1 < chain.size(); ++at) sum += chain.energy_of_step(at).total();
  return sum;
}

TEST(Chain, EnergyOfChargesIsThatOfTheFormula) {
  Chain chain = scattered(40, 1);
  const double expected = screened_directly(chain);
  EXPECT_NEAR(chain.screened_energy(), expected, 2e-4 * std::abs(expected));  // what the table is off
}

TEST(Chain, ChangesAreDifferencesOfWholeEnergies) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Chain chain = scattered(40, seed);
    Draws draws(seed, 1);
    const std::size_t first = draws.below(30);
    const Range range = {first, first + 1 + draws.below(40 - first)};
    const Rotation rotation = turn(draws.direction(), 0.4);
    for (std::size_t node = range.first; node < range.last; ++node)
      chain.try_at(node, turned_about({10, 0, 0}, rotation, chain.frame(node)));
    const double charges = chain.screened_energy(), springs = elastic(chain), anchors = chain.anchored_energy();
    const double overlap = chain.overlap(), more_overlap = chain.overlap_change(range);
    const double more_of_charges = chain.screened_change(range), more_of_springs = chain.elastic_change(range);
    const double more_of_anchors = chain.anchored_change(range);
    chain.accept(range);
    EXPECT_NEAR(chain.screened_energy() - charges, more_of_charges, 1e-9 * (1 + std::abs(charges)));
    EXPECT_NEAR(elastic(chain) - springs, more_of_springs, 1e-9 * (1 + springs));
    EXPECT_NEAR(chain.anchored_energy() - anchors, more_of_anchors, 1e-9 * (1 + anchors));
    EXPECT_NEAR(chain.overlap() - overlap, more_overlap, 1e-9 * (1 + overlap));
  }
}

TEST(Chain, AnchorsPullNoMoreThanFromTheirRange) {
  const Anchor anchor{{100, 0, 0}, 0.02};
  EXPECT_EQ(anchor.energy({100, 0, 0}), 0);
  EXPECT_DOUBLE_EQ(anchor.energy({110, 0, 0}), 0.02 * 10 * 10 / 2);
  EXPECT_DOUBLE_EQ(anchor.energy({100, 50, 0}), 0.02 * 50 * 50 / 2);
  EXPECT_DOUBLE_EQ(anchor.energy({300, 0, 0}) - anchor.energy({250, 0, 0}), 0.02 * 50 * 50);
}

TEST(Chain, OverlapIsThatOfAllPairsOfSpheres) {
  const Chain chain = scattered(40, 3, 40);
  const double d = chain.model().diameter;
  double expected = 0;
  for (std::size_t i = 0; i < chain.size(); ++i)
    for (std::size_t j = i + 2; j < chain.size(); ++j)
      for (const Vec3& a : chain.model().kinds[chain.model().kind[i]].spheres)
        for (const Vec3& b : chain.model().kinds[chain.model().kind[j]].spheres)
          expected += std::fmax(0, 1 - norm2(place_of(chain, i, a) - place_of(chain, j, b)) / (d * d));
  EXPECT_GT(expected, 10);
  EXPECT_NEAR(chain.overlap(), expected, 1e-9 * expected);
}

TEST(Chain, OverlapsAreThoseOfAllPairsOfSpheres) {
  int free = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Chain chain = scattered(12, seed, 60);
    const std::size_t node = seed % 12;
    chain.try_at(node, chain.frame(node));
    const Model& model = chain.model();
    bool is_free = true;
    for (std::size_t other = 0; other < 12; ++other) {
      if (other + 1 >= node && other <= node + 1) continue;
      for (const Vec3& a : model.kinds[model.kind[node]].spheres)
        for (const Vec3& b : model.kinds[model.kind[other]].spheres)
          if (norm(place_of(chain, node, a) - place_of(chain, other, b)) < model.diameter) is_free = false;
    }
    EXPECT_EQ(chain.is_free({node, node + 1}), is_free);
    free += is_free ? 1 : 0;
  }
  EXPECT_GT(free, 20);
  EXPECT_LT(free, 180);
}

TEST(Chain, WhatIsOutsideOnlyComesIn) {
  Chain chain(model_of(1));
  chain.place(0, {{100, 0, 0}, {}});
  const Range all = {0, 1};
  const auto may_go_to = [&](double x) { return chain.try_at(0, {{x, 0, 0}, {}}), chain.keeps_inside(all); };
  EXPECT_TRUE(may_go_to(500));  // there is no sphere
  chain.set_radius(80);
  EXPECT_DOUBLE_EQ(chain.furthest_outside(), 50);  // a sphere of radius 10 is 20 from the origin
  EXPECT_FALSE(may_go_to(101));
  EXPECT_TRUE(may_go_to(99));
  EXPECT_TRUE(may_go_to(0));
  chain.place(0, {});
  EXPECT_EQ(chain.furthest_outside(), 0);
  EXPECT_TRUE(may_go_to(50));
  EXPECT_FALSE(may_go_to(51));
}

TEST(Chain, ModelsThatDoNotFitTogetherAreRefused) {
  const auto refused = [](auto change) {
    Model model = model_of(5);
    change(model);
    EXPECT_THROW(Chain{model}, InputError);
  };
  refused([](Model& m) { m.kind.push_back(0); });
  refused([](Model& m) { m.kind[2] = 7; });
  refused([](Model& m) { m.kind.clear(), m.steps.clear(); });
  refused([](Model& m) { m.steps[1].springs.bend = 0; });
  refused([](Model& m) { m.steps[1].springs.length = infinite; });
  refused([](Model& m) { m.diameter = -1; });
  refused([](Model& m) { m.radius = 0; });
  refused([](Model& m) { m.anchors.pop_back(); });
  refused([](Model& m) { m.anchors[3].place.y = infinite; });
  refused([](Model& m) { m.anchors[3].stiffness = -1; });
  EXPECT_THROW(Screened(7, 0.1, 3), InputError);
  EXPECT_THROW(Screened(7, -1, 50), InputError);
}

}  // namespace
}  // namespace tessera::fiber
