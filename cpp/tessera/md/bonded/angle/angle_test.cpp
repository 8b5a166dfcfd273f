#include <gtest/gtest.h>

#include "tessera/md/bonded/bonded_test_support.h"

namespace tessera::md::bonded {
namespace {

using namespace test;

TESSERA_WITH_EACH_INSTRUCTION_SET(Angle);

Add angles(TermList<3> terms, std::vector<model::AngleParameter> p) {
  return [=](const Box& box, Positions x, Accumulator& a) {
    Kernel<model::Angle>::add({box, x}, terms, 0, terms.size(), p, a);
  };
}

TEST_P(Angle, RightAngleByHand) {
  const double theta0 = 1.25;
  const auto add = angles({{{0, 1, 2}}, {0}}, {{40, theta0}});
  const Result result = measure(cube(), fractions(cube(), {{2, 0, 0}, {0, 0, 0}, {0, 1, 0}}), add);
  const double deviation = units::pi / 2 - theta0;
  EXPECT_NEAR(result.term(Term::angle), 40 * deviation * deviation, 1e-8);
  // The angle is too wide, so the outer atoms are pushed towards each other with force 2kΔ/r.
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
  const double bend = 1.0 / (1 << 20);  // rad, 1e-6; 1 + cos would keep only 4 digits of it
  const auto add = angles({{{0, 1, 2}}, {0}}, {{40 * strong, units::pi}});
  const Result result = measure(cube(), fractions(cube(), {{1, 0, 0}, {0, 0, 0}, {-1, bend, 0}}), add);
  EXPECT_NEAR(result.force[0].y / (-2 * 40 * strong * bend), 1, 1e-8);
}

TEST_P(Angle, FollowsTheArctangentAllTheWayRound) {
  const double k = 40 * strong;  // an energy step is then 1e-15 rad²
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

TEST_P(Angle, CosineByHandAndByTheLaws) {
  const auto cosine = [](TermList<3> terms, std::vector<CosineAngleRow> p) -> Add {
    return [=](const Box& box, Positions x, Accumulator& a) {
      Kernel<model::AngleCosine>::add({box, x}, terms, 0, terms.size(), p, a);
    };
  };
  const auto row = Kernel<model::AngleCosine>::prepare({40, 1.25}, {});
  EXPECT_DOUBLE_EQ(row.cosine, std::cos(1.25));
  const auto add = cosine({{{0, 1, 2}}, {0}}, {row});
  const Result result = measure(cube(), fractions(cube(), {{2, 0, 0}, {0, 0, 0}, {0, 1, 0}}), add);
  EXPECT_NEAR(result.term(Term::angle), 40 * row.cosine * row.cosine, 1e-8);
  EXPECT_NEAR(result.force[0].y, 80 * row.cosine / 2, 1e-9);
  EXPECT_NEAR(result.force[2].x, 80 * row.cosine, 1e-9);
  const Result one_place = measure(cube(), fractions(cube(), {{1, 1, 1}, {1, 1, 1}, {2, 1, 1}}), add);
  EXPECT_EQ(one_place.fixed_force, std::vector<std::int64_t>(9, 0));
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const auto r = random_chain(random, 4);
    const auto both = cosine({{{0, 1, 2}, {3, 2, 1}}, {0, 1}}, {{60 * strong, 0.3}, {90 * strong, -0.5}});
    check_potential(small_box(), r, both);
    check_rotation(small_box(), r, both, random);
  }
}

}  // namespace
}  // namespace tessera::md::bonded
