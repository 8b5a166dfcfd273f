#include <gtest/gtest.h>

#include "tessera/md/bonded/bonded_test_support.h"

namespace tessera::md::bonded {
namespace {

using namespace test;

TESSERA_WITH_EACH_INSTRUCTION_SET(Bond);
TESSERA_WITH_EACH_INSTRUCTION_SET(Angle);
TESSERA_WITH_EACH_INSTRUCTION_SET(Pair14s);

Lattice cube() { return {{32, 0, 0}, {0, 32, 0}, {0, 0, 32}}; }  // lengths of whole 2⁻²⁷ Å: test positions are exact

Add bonds(TermList<2> terms, std::vector<model::BondParameter> p) {
  return [=](const Lattice& box, Positions x, Accumulator& a) { add_bonds(box, x, terms, 0, terms.size(), p, a); };
}
Add angles(TermList<3> terms, std::vector<model::AngleParameter> p) {
  return [=](const Lattice& box, Positions x, Accumulator& a) { add_angles(box, x, terms, 0, terms.size(), p, a); };
}

TEST_P(Bond, TwoAtomsByHand) {
  const auto add = bonds({{{0, 1}}, {0}}, {{100, 1.25}});
  const Result result = measure(cube(), fractions(cube(), {{1, 2, 3}, {2.5, 2, 3}}), add);
  EXPECT_DOUBLE_EQ(result.term(Term::bond), 100 * 0.25 * 0.25);
  EXPECT_DOUBLE_EQ(result.force[0].x, 2 * 100 * 0.25);  // pulled together
  EXPECT_DOUBLE_EQ(result.force[1].x, -2 * 100 * 0.25);
  EXPECT_DOUBLE_EQ(result.force[0].y, 0);
  EXPECT_DOUBLE_EQ(result.virial[0], -1.5 * 50);  // attraction: negative pressure
}

TEST_P(Bond, AcrossTheBoundary) {
  const auto add = bonds({{{0, 1}}, {0}}, {{100, 1.25}});
  const Result result = measure(cube(), fractions(cube(), {{15.5, 0, 0}, {-15, 0, 0}}), add);
  EXPECT_DOUBLE_EQ(result.term(Term::bond), 100 * 0.25 * 0.25);
}

TEST_P(Bond, AtomsInOnePlaceGiveNoForceAndNoNan) {
  const auto add = bonds({{{0, 1}}, {0}}, {{100, 1.25}});
  const Result result = measure(cube(), fractions(cube(), {{1, 2, 3}, {1, 2, 3}}), add);
  EXPECT_EQ(result.fixed_force, std::vector<std::int64_t>(6, 0));
  EXPECT_DOUBLE_EQ(result.energy, 156.25);
}

TEST_P(Bond, UreyBradleyIsABondReportedApart) {
  const std::vector<model::BondParameter> p{{100, 1.25}};
  const TermList<2> terms{{{0, 1}}, {0}};
  const auto x = fractions(cube(), {{1, 2, 3}, {2.5, 2.25, 3}});
  const Result bond = measure(cube(), x, bonds(terms, p));
  const Result urey = measure(cube(), x, [&](const Lattice& box, Positions r, Accumulator& a) {
    add_urey_bradleys(box, r, terms, 0, 1, p, a);
  });
  EXPECT_EQ(bond.fixed_force, urey.fixed_force);
  EXPECT_EQ(urey.term(Term::bond), 0);
  EXPECT_EQ(urey.term(Term::urey_bradley), bond.term(Term::bond));
}

TEST_P(Bond, RandomChainsObeyTheLaws) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const auto r = random_chain(random, 4);
    const auto add = bonds({{{0, 1}, {1, 2}, {3, 2}}, {0, 1, 0}}, {{300 * strong, 1.1}, {450 * strong, 1.6}});
    check_potential(small_box(), r, add);
    check_rotation(small_box(), r, add, random);
  }
}

TEST_P(Angle, RightAngleByHand) {
  const double theta0 = 1.25;
  const auto add = angles({{{0, 1, 2}}, {0}}, {{40, theta0}});
  const Result result = measure(cube(), fractions(cube(), {{2, 0, 0}, {0, 0, 0}, {0, 1, 0}}), add);
  const double deviation = units::pi / 2 - theta0;
  EXPECT_NEAR(result.term(Term::angle), 40 * deviation * deviation, 1e-8);
  // too wide: the outer atoms are pushed towards each other, with force 2kΔ/r
  EXPECT_NEAR(result.force[0].y, 80 * deviation / 2, 1e-9);
  EXPECT_NEAR(result.force[2].x, 80 * deviation / 1, 1e-9);
  EXPECT_NEAR(result.force[0].x, 0, 1e-9);
}

TEST_P(Angle, InLineIsFinite) {
  for (const Vec3& outer : {Vec3{1, 1, 1}, Vec3{-1, -1, -1}}) {
    for (double theta0 : {0.0, 1.9, units::pi}) {
      const auto add = angles({{{0, 1, 2}}, {0}}, {{40, theta0}});
      const Result result = measure(cube(), fractions(cube(), {{1, 1, 1}, {0, 0, 0}, outer}), add);
      const double deviation = (outer.x > 0 ? 0 : units::pi) - theta0;
      EXPECT_NEAR(result.energy, 40 * deviation * deviation, 1e-8);
      EXPECT_EQ(result.fixed_force, std::vector<std::int64_t>(9, 0));
    }
  }
}

TEST_P(Angle, NearlyStraightKeepsItsDigits) {
  const double bend = 1.0 / (1 << 20);  // rad, 1e-6: 1 + cos would keep 4 digits of it
  const auto add = angles({{{0, 1, 2}}, {0}}, {{40 * strong, units::pi}});
  const Result result = measure(cube(), fractions(cube(), {{1, 0, 0}, {0, 0, 0}, {-1, bend, 0}}), add);
  EXPECT_NEAR(result.force[0].y / (-2 * 40 * strong * bend), 1, 1e-8);
}

TEST_P(Angle, FollowsTheArctangentAllTheWayRound) {
  const double k = 40 * strong;  // an energy step is 1e-15 rad²
  const auto add = angles({{{0, 1, 2}}, {0}}, {{k, 0}});
  for (int i = 0; i <= 1000; ++i) {
    const double turn = units::pi * i / 1000;
    const auto x = fractions(cube(), {{1.1, 0, 0}, {0, 0, 0}, {1.3 * std::cos(turn), 1.3 * std::sin(turn), 0}});
    const Vec3 u = cube().displacement(x[1], x[0]), v = cube().displacement(x[1], x[2]);
    const double theta = std::atan2(norm(cross(u, v)), dot(u, v));
    EXPECT_NEAR(measure(cube(), x, add).energy, k * theta * theta, 2 * k * theta * 2e-15 + energy_unit) << turn;
  }
}

TEST_P(Angle, RandomChainsObeyTheLaws) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 20; ++trial) {
    const auto r = random_chain(random, 4);
    const auto add = angles({{{0, 1, 2}, {3, 2, 1}}, {0, 1}}, {{50 * strong, 1.9}, {35 * strong, units::pi}});
    check_potential(small_box(), r, add);
    check_rotation(small_box(), r, add, random);
  }
}

TEST_P(Pair14s, TwoAtomsByHand) {
  const std::vector<double> charge{0.5, -0.25};
  const std::vector<Pair14> p{make_pair_14({3, 0.1, 0.8}, 332)};
  const TermList<2> terms{{{0, 1}}, {0}};
  const Result result = measure(
      cube(), fractions(cube(), {{1, 0, 0}, {4, 0, 0}}),
      [&](const Lattice& box, Positions x, Accumulator& a) { add_pairs_14(box, x, charge, terms, 0, 1, p, a); });
  const double coulomb = -0.8 * 332 * 0.125 / 3;
  EXPECT_NEAR(result.term(Term::lj_14), 0, 1e-8);  // r = σ
  EXPECT_NEAR(result.term(Term::coulomb_14), coulomb, 1e-8);
  EXPECT_NEAR(result.force[1].x, 24 * 0.1 / 3 + coulomb / 3, 1e-8);
}

TEST_P(Pair14s, AtomsInOnePlaceSaturateSoThatItShows) {
  const std::vector<double> charge{0.5, -0.25};
  const std::vector<Pair14> p{make_pair_14({3, 0.1, 0.8}, 332)};
  const TermList<2> terms{{{0, 1}}, {0}};
  const Result result = measure(
      cube(), fractions(cube(), {{1, 2, 3}, {1, 2, 3}}),
      [&](const Lattice& box, Positions x, Accumulator& a) { add_pairs_14(box, x, charge, terms, 0, 1, p, a); });
  for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(result.fixed_force[d], to_fixed(force_limit, force_unit));
  EXPECT_EQ(result.fixed.virial_of_clashes[0], static_cast<std::int64_t>(energy_limit / large_energy));
  EXPECT_TRUE(result.fixed.clashes.is_energy_limited);
}

TEST_P(Pair14s, RandomPairsObeyTheLaws) {
  std::mt19937_64 random(3);
  const std::vector<double> charge{0.5, -0.3, 0.1, 0.4};
  const std::vector<Pair14> p{make_pair_14({3.1, 0.1 * strong, 0.8}, 332 * strong),
                              make_pair_14({2.5, 0.2 * strong, 1}, 332 * strong)};
  const TermList<2> terms{{{0, 3}, {2, 1}}, {0, 1}};
  const Add add = [&](const Lattice& box, Positions x, Accumulator& a) {
    add_pairs_14(box, x, charge, terms, 0, 2, p, a);
  };
  int checked = 0;
  while (checked < 20) {
    auto r = random_chain(random, 4);
    for (Vec3& x : r) x = r[0] + 1.8 * (x - r[0]);
    if (norm(r[3] - r[0]) < 2 || norm(r[2] - r[1]) < 2) continue;
    check_potential(small_box(), r, add, 2e-6);  // r⁻¹⁴ bends more than the finite difference follows
    check_rotation(small_box(), r, add, random);
    ++checked;
  }
}

}  // namespace
}  // namespace tessera::md::bonded
