#include <gtest/gtest.h>

#include "tessera/md/bonded/bonded_test_support.h"

namespace tessera::md::bonded {
namespace {

using namespace test;

TESSERA_WITH_EACH_INSTRUCTION_SET(Pair14s);

TEST_P(Pair14s, TwoAtomsByHand) {
  const std::vector<double> charge{0.5, -0.25};
  const std::vector<Pair14Row> p{make_pair_14({3, 0.1, 0.8}, 332)};
  const TermList<2> terms{{{0, 1}}, {0}};
  const Result result =
      measure(cube(), fractions(cube(), {{1, 0, 0}, {4, 0, 0}}), [&](const Box& box, Positions x, Accumulator& a) {
        Kernel<model::Pair14>::add({box, x, charge}, terms, 0, 1, p, a);
      });
  const double coulomb = -0.8 * 332 * 0.125 / 3;
  EXPECT_NEAR(result.term(Term::lj_14), 0, 1e-8);  // r = σ
  EXPECT_NEAR(result.term(Term::coulomb_14), coulomb, 1e-8);
  EXPECT_NEAR(result.force[1].x, 24 * 0.1 / 3 + coulomb / 3, 1e-8);
}

TEST_P(Pair14s, AtomsInOnePlaceSaturateSoThatItShows) {
  const std::vector<double> charge{0.5, -0.25};
  const std::vector<Pair14Row> p{make_pair_14({3, 0.1, 0.8}, 332)};
  const TermList<2> terms{{{0, 1}}, {0}};
  const Result result =
      measure(cube(), fractions(cube(), {{1, 2, 3}, {1, 2, 3}}), [&](const Box& box, Positions x, Accumulator& a) {
        Kernel<model::Pair14>::add({box, x, charge}, terms, 0, 1, p, a);
      });
  for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(result.fixed_force[d], to_fixed(force_limit, force_unit));
  EXPECT_EQ(result.fixed.virial_of_clashes[0], static_cast<std::int64_t>(energy_limit / large_energy));
  EXPECT_TRUE(result.fixed.clashes.is_energy_limited);
}

TEST_P(Pair14s, RandomPairsObeyTheLaws) {
  std::mt19937_64 random(3);
  const std::vector<double> charge{0.5, -0.3, 0.1, 0.4};
  const std::vector<Pair14Row> p{make_pair_14({3.1, 0.1 * strong, 0.8}, 332 * strong),
                                 make_pair_14({2.5, 0.2 * strong, 1}, 332 * strong)};
  const TermList<2> terms{{{0, 3}, {2, 1}}, {0, 1}};
  const Add add = [&](const Box& box, Positions x, Accumulator& a) {
    Kernel<model::Pair14>::add({box, x, charge}, terms, 0, 2, p, a);
  };
  int checked = 0;
  while (checked < 20) {
    auto r = random_chain(random, 4);
    for (Vec3& x : r) x = r[0] + 1.8 * (x - r[0]);
    if (norm(r[3] - r[0]) < 2 || norm(r[2] - r[1]) < 2) continue;
    check_potential(small_box(), r, add, 2e-6);  // the curvature of r⁻¹⁴ limits the finite difference
    check_rotation(small_box(), r, add, random);
    ++checked;
  }
}

}  // namespace
}  // namespace tessera::md::bonded
