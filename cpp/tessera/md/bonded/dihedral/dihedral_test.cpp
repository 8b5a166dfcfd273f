#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/md/bonded/bonded_test_support.h"

namespace tessera::md::bonded {
namespace {

using namespace test;

TESSERA_WITH_EACH_INSTRUCTION_SET(Dihedrals);
TESSERA_WITH_EACH_INSTRUCTION_SET(RyckaertBellemans);
TESSERA_WITH_EACH_INSTRUCTION_SET(Improper);

constexpr double degree = units::pi / 180;

// Returns four atoms with dihedral φ by IUPAC: looking from j to k, l is rotated clockwise from i by φ.
std::vector<Vec3> butane(double phi) {
  // The axis is along z; looking along +z, clockwise is from x towards y.
  return {{1.2, 0, -0.5}, {0, 0, 0}, {0, 0, 1.5}, {1.1 * std::cos(phi), 1.1 * std::sin(phi), 1.9}};
}

Add cosines(TermList<4> terms, std::vector<CosineTerm> p) {
  return [=](const Box& box, Positions x, Accumulator& a) {
    Kernel<model::Dihedral>::add({box, x}, terms, 0, terms.size(), p, a);
  };
}

TEST_P(Dihedrals, AngleFollowsIupac) {
  const Box box = small_box();
  for (int degrees = -179; degrees <= 180; ++degrees) {
    const double phi = degrees * degree;
    // k[1 + cos(φ − δ)] is steepest if δ is a quarter turn away, so its energy there determines φ with its sign.
    const std::vector<CosineTerm> p{make_cosine_term({1, 1, phi - units::pi / 2})};
    const auto x = fractions(box, butane(phi));
    EXPECT_NEAR(measure(box, x, cosines({{{0, 1, 2, 3}}, {0}}, p)).energy, 1, 4e-8) << degrees;
    EXPECT_NEAR(measure(box, x, cosines({{{3, 2, 1, 0}}, {0}}, p)).energy, 1, 4e-8) << degrees << " read backwards";
  }
}

TEST_P(Dihedrals, CosineEnergiesOfKnownAngles) {
  const Box box = small_box();
  for (int n = 0; n <= 6; ++n) {
    for (double delta : {0.0, 180.0, 90.0, 37.0}) {
      for (double phi : {0.0, 180.0, 60.0, -60.0, 121.0, -17.5}) {
        const auto add = cosines({{{0, 1, 2, 3}}, {0}}, {make_cosine_term({2.5, double(n), delta * degree})});
        const Result result = measure(box, fractions(box, butane(phi * degree)), add);
        EXPECT_NEAR(result.term(Term::dihedral), 2.5 * (1 + std::cos((n * phi - delta) * degree)), 1e-6)
            << n << " " << delta << " " << phi;
      }
    }
  }
}

TEST_P(Dihedrals, NegativeMultiplicityIsItsMirrorAndAFractionIsRefused) {
  const auto x = fractions(small_box(), butane(0.7));
  const auto energy = [&](double n, double delta) {
    return measure(small_box(), x, cosines({{{0, 1, 2, 3}}, {0}}, {make_cosine_term({2, n, delta})})).energy;
  };
  EXPECT_NEAR(energy(-3, 0.4), 2 * (1 + std::cos(-3 * 0.7 - 0.4)), 1e-6);
  EXPECT_THROW(make_cosine_term({1, 2.5, 0}), InputError);
  EXPECT_THROW(make_cosine_term({1, std::nan(""), 0}), InputError);
}

TEST_P(Dihedrals, RandomChainsObeyTheLaws) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 20; ++trial) {
    const auto r = random_chain(random, 5);
    std::vector<CosineTerm> p;
    for (int n = 1; n <= 6; ++n) p.push_back(make_cosine_term({(0.2 + n) * strong, double(n), 0.6 * n * n}));
    const auto add =
        cosines({{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {4, 3, 2, 1}, {1, 2, 3, 4}}, {0, 2, 5, 1, 3}}, p);
    check_potential(small_box(), r, add, 2e-6);
    check_rotation(small_box(), r, add, random);
  }
}

TEST_P(Dihedrals, CisAndTransHaveNoSingularity) {
  for (double phi : {0.0, 180.0}) {
    for (double offset : {0.0, 1e-7, 1e-5}) {
      const auto add = cosines({{{0, 1, 2, 3}}, {0}}, {make_cosine_term({3 * strong, 3, 0.5})});
      check_potential(small_box(), butane(phi * degree + offset), add, 2e-6);
    }
  }
}

TEST_P(Dihedrals, InLineGivesNoForceAndNoNan) {
  const std::vector<std::vector<Vec3>> shapes{
      {{-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {2, 1, 0}},  // i, j, k in line
      {{-1, 1, 0}, {0, 0, 0}, {1, 0, 0}, {2, 0, 0}},  // j, k, l in line
      {{-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {2, 0, 0}},  // all
      {{-1, 1, 0}, {0, 0, 0}, {0, 0, 0}, {2, 0, 0}},  // j on k
      {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
  };
  for (const auto& shape : shapes) {
    const auto add = cosines({{{0, 1, 2, 3}}, {0}}, {make_cosine_term({3, 2, 1})});
    const Result result = measure(small_box(), fractions(small_box(), shape), add);
    EXPECT_EQ(result.fixed_force, std::vector<std::int64_t>(12, 0));
    EXPECT_TRUE(result.energy >= 0 && result.energy <= 6);
  }
}

TEST_P(Dihedrals, ATermGivesTheSameBitsInAnyBatch) {
  std::mt19937_64 random(5);
  std::vector<CosineTerm> p;
  for (int n = 1; n <= 6; ++n) p.push_back(make_cosine_term({0.5 * n, double(n), 0.3 * n}));
  const auto x = fractions(small_box(), random_chain(random, 6));
  TermList<4> terms;
  for (std::int32_t t = 0; t < 21; ++t) {
    const std::int32_t i = t % 3;
    terms.add({i, i + 1, i + 2, i + 3}, (5 * t) % 6);
  }
  const Result whole = measure(small_box(), x, cosines(terms, p));
  for (std::int64_t cut = 0; cut <= terms.size(); ++cut) {
    for (std::int64_t second = cut; second <= terms.size(); ++second) {
      const Result parts = measure(small_box(), x, [&](const Box& box, Positions r, Accumulator& a) {
        Kernel<model::Dihedral>::add({box, r}, terms, second, terms.size(), p, a);
        Kernel<model::Dihedral>::add({box, r}, terms, 0, cut, p, a);
        Kernel<model::Dihedral>::add({box, r}, terms, cut, second, p, a);
      });
      EXPECT_EQ(parts.fixed_force, whole.fixed_force) << cut << " " << second;
      EXPECT_EQ(parts.fixed.energy, whole.fixed.energy);
      EXPECT_EQ(parts.fixed.virial, whole.fixed.virial);
    }
  }
}

TEST_P(RyckaertBellemans, EnergiesOfKnownAngles) {
  const std::vector<model::RyckaertBellemansParameter> p{{{1.1, -0.7, 2.3, 0.4, -1.9, 0.8}}};
  const TermList<4> terms{{{0, 1, 2, 3}}, {0}};
  for (double phi : {0.0, 180.0, 60.0, -100.0}) {
    const Result result = measure(small_box(), fractions(small_box(), butane(phi * degree)),
                                  [&](const Box& box, Positions x, Accumulator& a) {
                                    Kernel<model::DihedralRb>::add({box, x}, terms, 0, 1, p, a);
                                  });
    double expected = 0;
    for (std::size_t n = 0; n < 6; ++n) expected += p[0].c[n] * std::pow(std::cos((phi - 180) * degree), double(n));
    EXPECT_NEAR(result.term(Term::dihedral), expected, 1e-6) << phi;
  }
}

TEST_P(RyckaertBellemans, RandomChainsObeyTheLaws) {
  std::mt19937_64 random(7);
  std::vector<model::RyckaertBellemansParameter> p{{{1.1, -0.7, 2.3, 0.4, -1.9, 0.8}}};
  for (double& c : p[0].c) c *= strong;
  const TermList<4> terms{{{0, 1, 2, 3}}, {0}};
  const Add add = [&](const Box& box, Positions x, Accumulator& a) {
    Kernel<model::DihedralRb>::add({box, x}, terms, 0, 1, p, a);
  };
  for (int trial = 0; trial < 20; ++trial) {
    const auto r = random_chain(random, 4);
    check_potential(small_box(), r, add, 2e-6);
    check_rotation(small_box(), r, add, random);
  }
}

TEST_P(Improper, HarmonicTakesTheShortWayRound) {
  const TermList<4> terms{{{0, 1, 2, 3}}, {0}};
  for (double phi0 : {0.0, 35.0, 180.0, -179.0}) {
    for (double phi : {0.0, 1.0, -1.0, 90.0, 179.5, -179.5}) {
      const std::vector<HarmonicDihedral> p{make_harmonic_dihedral({10, phi0 * degree})};
      const Result result = measure(small_box(), fractions(small_box(), butane(phi * degree)),
                                    [&](const Box& box, Positions x, Accumulator& a) {
                                      Kernel<model::ImproperHarmonic>::add({box, x}, terms, 0, 1, p, a);
                                    });
      const double deviation = std::remainder(phi - phi0, 360.0) * degree;
      EXPECT_NEAR(result.term(Term::improper), 10 * deviation * deviation, 1e-5) << phi0 << " " << phi;
    }
  }
}

TEST_P(Improper, RandomChainsObeyTheLaws) {
  std::mt19937_64 random(8);
  const std::vector<HarmonicDihedral> p{make_harmonic_dihedral({30 * strong, 0}),
                                        make_harmonic_dihedral({20 * strong, 0.6})};
  const std::vector<CosineTerm> q{make_cosine_term({10.5 * strong, 2, units::pi})};
  const TermList<4> harmonic{{{0, 1, 2, 3}, {0, 1, 2, 3}}, {0, 1}}, periodic{{{3, 1, 0, 2}}, {0}};
  const Add add = [&](const Box& box, Positions x, Accumulator& a) {
    Kernel<model::ImproperHarmonic>::add({box, x}, harmonic, 0, 2, p, a);
    Kernel<model::ImproperPeriodic>::add({box, x}, periodic, 0, 1, q, a);
  };
  int checked = 0;
  while (checked < 20) {
    const auto r = random_chain(random, 4);
    // The harmonic term has a kink half a turn from φ₀, and the periodic one takes its atoms in an order that may be in
    // line.
    const Vec3 f = r[0] - r[1], g = r[1] - r[2], h = r[3] - r[2];
    const double phi = std::atan2(-norm(g) * dot(f, cross(h, g)), dot(cross(f, g), cross(h, g)));
    const double in_line = std::min(norm(cross(r[3] - r[1], r[1] - r[0])), norm(cross(r[2] - r[0], r[1] - r[0])));
    if (std::abs(phi) > 3 || std::abs(std::remainder(phi - 0.6, 2 * units::pi)) > 3 || in_line < 0.5) continue;
    check_potential(small_box(), r, add, 2e-6);
    check_rotation(small_box(), r, add, random);
    const Result result = measure(small_box(), fractions(small_box(), r), add);
    EXPECT_EQ(result.term(Term::improper), result.energy);
    ++checked;
  }
}

}  // namespace
}  // namespace tessera::md::bonded
