#include <gtest/gtest.h>

#include "tessera/md/bonded/bonded_test_support.h"

namespace tessera::md::bonded {
namespace {

using namespace test;

TESSERA_WITH_EACH_INSTRUCTION_SET(Bond);

Add bonds(TermList<2> terms, std::vector<model::BondParameter> p) {
  return [=](const Box& box, Positions x, Accumulator& a) {
    Kernel<model::Bond>::add({box, x}, terms, 0, terms.size(), p, a);
  };
}

TEST_P(Bond, TwoAtomsByHand) {
  const auto add = bonds({{{0, 1}}, {0}}, {{100, 1.25}});
  const Result result = measure(cube(), fractions(cube(), {{1, 2, 3}, {2.5, 2, 3}}), add);
  EXPECT_DOUBLE_EQ(result.term(Term::bond), 100 * 0.25 * 0.25);
  EXPECT_DOUBLE_EQ(result.force[0].x, 2 * 100 * 0.25);  // the atoms are pulled together
  EXPECT_DOUBLE_EQ(result.force[1].x, -2 * 100 * 0.25);
  EXPECT_DOUBLE_EQ(result.force[0].y, 0);
  EXPECT_DOUBLE_EQ(result.virial[0], -1.5 * 50);  // attraction gives negative pressure
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
  const Result urey = measure(cube(), x, [&](const Box& box, Positions r, Accumulator& a) {
    Kernel<model::UreyBradley>::add({box, r}, terms, 0, 1, p, a);
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

TEST_P(Bond, QuarticByHandAndByTheLaws) {
  const auto quartic = [](TermList<2> terms, std::vector<model::BondParameter> p) -> Add {
    return [=](const Box& box, Positions x, Accumulator& a) {
      Kernel<model::BondQuartic>::add({box, x}, terms, 0, terms.size(), p, a);
    };
  };
  const Result result =
      measure(cube(), fractions(cube(), {{1, 2, 3}, {2.5, 2, 3}}), quartic({{{0, 1}}, {0}}, {{100, 1.25}}));
  const double stretch = 1.5 * 1.5 - 1.25 * 1.25;
  EXPECT_DOUBLE_EQ(result.term(Term::bond), 100 * stretch * stretch);
  EXPECT_DOUBLE_EQ(result.force[0].x, 4 * 100 * stretch * 1.5);
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 20; ++trial) {
    const auto r = random_chain(random, 4);
    const auto add = quartic({{{0, 1}, {1, 2}, {3, 2}}, {0, 1, 0}}, {{100 * strong, 1.1}, {150 * strong, 1.6}});
    check_potential(small_box(), r, add);
    check_rotation(small_box(), r, add, random);
  }
}

}  // namespace
}  // namespace tessera::md::bonded
