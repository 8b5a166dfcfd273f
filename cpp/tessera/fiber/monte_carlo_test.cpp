#include "tessera/fiber/monte_carlo.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera::fiber {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
const Springs dna = {30, 0.17, 0.8, 16, 24};

/// Returns beads in a row, each with this charge in its middle and a sphere around it.
Model beads(std::size_t n, double charge, double diameter = 0) {
  const Kind bead = {{{{0, 0, 0}, charge}}, {{0, 0, 0}}};
  return {{bead},
          std::vector<std::size_t>(n),
          std::vector<Step>(n - 1, {{}, {}, dna}),
          Screened(7, 0.03, 150),
          diameter,
          infinite,
          infinite};
}

void put_in_a_row(Chain& chain) {
  for (std::size_t node = 0; node < chain.size(); ++node)
    chain.place(node, {{0, 0, 30.0 * static_cast<double>(node)}, {}});
}

TEST(MonteCarlo, EachSpringHasHalfOfTheTemperature) {
  MonteCarlo sampled(beads(12, 0), 1);
  put_in_a_row(sampled.chain());
  sampled.run(20'000, 1.0, true);
  StepEnergy sum;
  double count = 0;
  for (int frame = 0; frame < 10'000; ++frame) {
    sampled.run(60, 1.0, false);
    for (std::size_t at = 0; at + 1 < 12; ++at) {
      const StepEnergy energy = sampled.chain().energy_of_step(at);
      sum.across += energy.across, sum.along += energy.along, sum.bend += energy.bend, sum.twist += energy.twist;
      ++count;
    }
  }
  // Bending has fewer ways at large angles, as sin θ/θ: of two halves it has 1 - 1/(3·16).
  EXPECT_NEAR(sum.across / count, 1, 0.03);
  EXPECT_NEAR(sum.along / count, 0.5, 0.02);
  EXPECT_NEAR(sum.bend / count, 1 - 1.0 / 48, 0.03);
  EXPECT_NEAR(sum.twist / count, 0.5, 0.02);
}

/// Returns the means of how far apart both ends of three beads are, and of their energy there, by the integral over both
/// steps: drawn from the springs, and weighed by that energy and by sin θ/θ.
template <class Energy>
std::array<double, 2> means_of_three(Energy energy_of) {
  double weights = 0, distance = 0, mean_energy = 0;
  Draws draws(5, 0);
  for (int trial = 0; trial < 200'000; ++trial) {
    Frame frame;
    double weight = 1;
    for (int step = 0; step < 2; ++step) {
      std::array<double, 6> p{};
      const std::array<double, 6> springs = {dna.across, dna.across, dna.along, dna.bend, dna.bend, dna.twist};
      for (std::size_t i = 0; i < 6; ++i) p[i] = draws.normal() / std::sqrt(springs[i]) + (i == 2 ? 30 : 0);
      const double bend = std::hypot(p[3], p[4]);
      weight *= std::sin(bend) / bend;
      frame = frame * step_frame(p);
    }
    const double r = norm(frame.origin), energy = energy_of(r);
    weight *= std::exp(-energy);
    weights += weight, distance += weight * r, mean_energy += weight * energy;
  }
  return {distance / weights, mean_energy / weights};
}

/// Returns these means as they are sampled.
template <class Energy>
std::array<double, 2> sampled_means(MonteCarlo& sampled, Energy energy_of) {
  put_in_a_row(sampled.chain());
  sampled.run(20'000, 1.0, true);
  double sum = 0, sum_energy = 0;
  constexpr int frames = 30'000;
  for (int frame = 0; frame < frames; ++frame) {
    sampled.run(12, 1.0, false);
    const double r = norm(sampled.chain().frame(2).origin - sampled.chain().frame(0).origin);
    sum += r, sum_energy += energy_of(r);
  }
  return {sum / frames, sum_energy / frames};
}

TEST(MonteCarlo, TwoChargesAreAsFarApartAsTheirEnergySays) {
  constexpr double charge = 6;
  const Screened screened(7, 0.03, 150);
  const auto energy_of = [&](double r) { return charge * charge * screened(r * r); };
  const auto [distance, energy] = means_of_three(energy_of);
  MonteCarlo sampled(beads(3, charge), 2);
  const auto [sampled_distance, sampled_energy] = sampled_means(sampled, energy_of);
  EXPECT_NEAR(sampled_distance, distance, 0.06);  // of 2 Å; four times what repeats differ by
  EXPECT_NEAR(sampled_energy, energy, 0.01);
  EXPECT_GT(distance, 55);
}

/// The same of spheres that may overlap, without charges.
TEST(MonteCarlo, SoftSpheresOverlapAsTheirHardnessSays) {
  constexpr double hardness = 12, diameter = 65;
  const auto energy_of = [&](double r) { return hardness * std::fmax(0, 1 - r * r / (diameter * diameter)); };
  const auto [distance, energy] = means_of_three(energy_of);
  MonteCarlo sampled(beads(3, 6, diameter), 2);
  sampled.set_hardness(hardness);
  const auto [sampled_distance, sampled_energy] = sampled_means(sampled, energy_of);
  EXPECT_NEAR(sampled_distance, distance, 0.06);
  EXPECT_NEAR(sampled_energy, energy, 0.03);
  EXPECT_GT(energy, 1);
}

/// A bead that nothing but its anchor holds has half of the temperature in each direction.
TEST(MonteCarlo, AnAnchorHasHalfOfTheTemperatureInEachDirection) {
  Model model = beads(3, 0);
  model.anchors = {{{5, 0, 0}, 0.03}, {}, {}};
  MonteCarlo sampled(model, 4);
  put_in_a_row(sampled.chain());
  sampled.run(20'000, 1.0, true);
  double sum = 0;
  constexpr int frames = 30'000;
  for (int frame = 0; frame < frames; ++frame) {
    sampled.run(12, 1.0, false);
    sum += sampled.chain().anchored_energy();
  }
  EXPECT_NEAR(sum / frames, 1.5, 0.05);
}

std::vector<double> numbers_of(const Chain& chain) {
  std::vector<double> numbers;
  for (std::size_t node = 0; node < chain.size(); ++node) {
    const Frame& f = chain.frame(node);
    for (const Vec3& v : {f.origin, f.rotation.x, f.rotation.z}) numbers.insert(numbers.end(), {v.x, v.y, v.z});
  }
  return numbers;
}

std::vector<std::size_t> every(std::size_t n) {
  std::vector<std::size_t> ends;
  for (std::size_t node = 0; node < n; ++node) ends.push_back(node);
  return ends;
}

TEST(MonteCarlo, TheSeedDecidesAllBits) {
  const auto made = [](std::uint64_t seed) {
    MonteCarlo sampled(beads(20, -3, 20), seed);
    EXPECT_TRUE(sampled.grow(every(20), {}));
    sampled.run(3000, 1.0, true);
    return numbers_of(sampled.chain());
  };
  const auto one = made(7);
  EXPECT_EQ(one, made(7));
  EXPECT_NE(one, made(8));
  // the same on every processor
  EXPECT_EQ(one[9 * std::size_t{19}], 0x1.c9a5e12fc348fp+6);
  EXPECT_EQ(one[9 * std::size_t{19} + 1], -0x1.6baa46ac95eabp+8);
}

double least_distance(const Chain& chain) {
  double least = infinite;
  for (std::size_t i = 0; i < chain.size(); ++i)
    for (std::size_t j = i + 2; j < chain.size(); ++j)
      least = std::fmin(least, norm(chain.frame(i).origin - chain.frame(j).origin));
  return least;
}

double furthest(const Chain& chain) {
  double most = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) most = std::fmax(most, norm(chain.frame(i).origin));
  return most;
}

TEST(MonteCarlo, AChainGrowsAndStaysInItsSphereWithoutOverlaps) {
  Model model = beads(300, 0, 28);
  model.radius = 260;
  MonteCarlo sampled(model, 3);
  ASSERT_TRUE(sampled.grow(every(300), {}));
  for (int part = 0; part < 3; ++part) {
    EXPECT_GE(least_distance(sampled.chain()), 28);
    EXPECT_LE(furthest(sampled.chain()), 260 - 14);
    sampled.run(10'000, 1.0, true);
  }
}

TEST(MonteCarlo, AChainComesIntoASmallerSphere) {
  MonteCarlo sampled(beads(60, 0, 28), 4);
  ASSERT_TRUE(sampled.grow(every(60), {}));
  ASSERT_GT(furthest(sampled.chain()), 200);
  sampled.chain().set_radius(150);
  for (int part = 0; part < 200 && sampled.chain().furthest_outside() > 0; ++part) sampled.run(2000, 1.0, true);
  EXPECT_LE(furthest(sampled.chain()), 150 - 14);
}

TEST(MonteCarlo, NoMoveIsLargerThanItsReach) {
  Model model = beads(40, 0, 20);
  model.reach = 3;
  MonteCarlo sampled(model, 5);
  ASSERT_TRUE(sampled.grow(every(40), {}));
  for (int move = 0; move < 2000; ++move) {
    const auto before = numbers_of(sampled.chain());
    sampled.run(1, 1.0, true);
    const auto after = numbers_of(sampled.chain());
    for (std::size_t i = 0; i < before.size(); i += 9)
      EXPECT_LE(std::hypot(after[i] - before[i], after[i + 1] - before[i + 1], after[i + 2] - before[i + 2]), 3 + 1e-9);
  }
}

TEST(MonteCarlo, AChainLeadsToItsTargets) {
  std::vector<Vec3> targets;
  for (int i = 0; i < 40; ++i) targets.push_back({400 + 20.0 * i, 0, 0});
  MonteCarlo sampled(beads(40, 0, 10), 6);
  ASSERT_TRUE(sampled.grow(every(40), targets));
  EXPECT_EQ(sampled.chain().frame(0).origin.x, 400);
  EXPECT_LT(norm(sampled.chain().frame(39).origin - targets[39]), 150);
}

TEST(MonteCarlo, AChainWithoutRoomIsGivenUp) {
  Model model = beads(100, 0, 28);
  model.radius = 50;
  MonteCarlo sampled(model, 7);
  EXPECT_FALSE(sampled.grow(every(100), {}));
}

}  // namespace
}  // namespace tessera::fiber
