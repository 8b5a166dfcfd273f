#include "tessera/md/bonded/exclusion.h"

#include <gtest/gtest.h>

#include "tessera/md/bonded/bonded_test_support.h"

namespace tessera::md::bonded {
namespace {

using namespace test;

TEST(Exclusion, MatchesTheErrorFunction) {
  for (double r : {0.3, 0.5, 0.96, 1.5, 2.4, 5.0}) {
    for (double alpha : {0.2, 0.3, 0.35}) {
      const EwaldPair pair = ewald_exclusion(r * r, 332.0 * -0.3, alpha);
      EXPECT_NEAR(pair.energy / (332.0 * 0.3 * std::erf(alpha * r) / r), 1, 1e-14);
    }
  }
}

TEST(Exclusion, SeriesAndClosedFormMeet) {
  // on both sides of the switch at (αr)² = 1/16, against long double
  for (double x2 = 0.02; x2 < 0.12; x2 *= 1.05) {
    const long double x = std::sqrt(static_cast<long double>(x2));
    const long double value = std::erf(x) / x;
    const long double slope = (1.12837916709551257390L * std::exp(-x * x) - value) / (x * x);
    const EwaldPair pair = ewald_exclusion(x2, 1, 1);
    EXPECT_NEAR(pair.energy / static_cast<double>(-value), 1, 5e-16 * 2);
    EXPECT_NEAR(pair.force_over_r / static_cast<double>(slope), 1, 1e-14);
  }
}

TEST(Exclusion, IsFiniteAtContact) {
  const EwaldPair pair = ewald_exclusion(0, 1, 0.3);
  EXPECT_DOUBLE_EQ(pair.energy, -0.3 * 2 / std::sqrt(units::pi));
  EXPECT_TRUE(std::isfinite(pair.force_over_r));
  EXPECT_NEAR(ewald_exclusion(1e-12, 1, 0.3).energy, pair.energy, 1e-13);
}

TEST(Exclusion, RandomPairsObeyTheLawsAndPartsAreParts) {
  std::mt19937_64 random(12);
  const std::vector<double> charge{0.5, -0.3, 0.1, 0.4};
  const TermList<2> terms{{{0, 3}, {2, 1}, {0, 1}}, {0, 0, 0}};
  const auto add = [&](ExclusionPart part) -> Add {
    return [&, part](const Lattice& box, Positions x, Accumulator& a) {
      add_exclusion_energies(box, x, charge, terms, 0, 3, 332 * strong, 0.35, part, a);
    };
  };
  for (int trial = 0; trial < 20; ++trial) {
    const auto r = random_chain(random, 4);
    check_potential(small_box(), r, add(ExclusionPart::all));
    check_rotation(small_box(), r, add(ExclusionPart::all), random);
    const auto x = fractions(small_box(), r);
    const Result all = measure(small_box(), x, add(ExclusionPart::all));
    const Result virial = measure(small_box(), x, add(ExclusionPart::energy_and_virial));
    const Result energy = measure(small_box(), x, add(ExclusionPart::energy));
    const std::vector<std::int64_t> no_force(12, 0);
    EXPECT_EQ(virial.fixed_force, no_force);
    EXPECT_EQ(energy.fixed_force, no_force);
    EXPECT_EQ(virial.fixed.virial, all.fixed.virial);
    EXPECT_EQ(virial.fixed.energy, all.fixed.energy);
    EXPECT_EQ(energy.fixed.energy, all.fixed.energy);
    EXPECT_EQ(energy.fixed.virial, EnergyVirial{}.virial);
    EXPECT_EQ(all.term(Term::coulomb_exclusion), all.energy);
  }
}

}  // namespace
}  // namespace tessera::md::bonded
