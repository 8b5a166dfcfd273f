#include "tessera/md/constraint/shake.h"

#include "tessera/base/error.h"
#include "tessera/md/constraint/constraint_test_support.h"

namespace tessera::md::constraint {
namespace {

using namespace test;

TEST(Shake, OneBondByHand) {
  // Two equal masses are pulled apart along the bond; each returns half of the way.
  Molecule bond{{{0, 0, 0}, {1, 0, 0}}, {2, 2}, {{0, 1}}};
  std::vector<Vec3> after{{-0.1, 0, 0}, {1.1, 0, 0}};
  ASSERT_TRUE(shake_positions(bond.group(), bond.shape, after));
  EXPECT_NEAR(after[0].x, 0, 1e-10);
  EXPECT_NEAR(after[1].x, 1, 1e-10);
  // After a displacement across the bond Δx² + Δy² = 1 holds, with the correction along the old bond.
  after = {{0, 0, 0}, {1, 0.6, 0}};
  ASSERT_TRUE(shake_positions(bond.group(), bond.shape, after));
  EXPECT_NEAR(after[1].x - after[0].x, 0.8, 1e-10);
  EXPECT_NEAR(after[1].y - after[0].y, 0.6, 1e-15);
  EXPECT_NEAR(after[0].x + after[1].x, 1, 1e-15);
}

TEST(Shake, RestoresDistancesAndKeepsMomenta) {
  std::mt19937_64 random(31);
  for (const Molecule& molecule : molecules()) {
    const ConstraintGroup group = molecule.group();
    for (int trial = 0; trial < 500; ++trial) {
      const std::vector<Vec3> before = placed(molecule.shape, random);
      std::vector<Vec3> after = before;
      for (Vec3& r : after) r += random_vector(random, trial % 4 == 0 ? 0.1 : 0.03);
      const std::vector<Vec3> unconstrained = after;
      ASSERT_TRUE(shake_positions(group, before, after));
      check_positions(molecule, before, unconstrained, after, 2e-10);
    }
  }
}

TEST(Shake, ToleranceIsKept) {
  std::mt19937_64 random(32);
  const Molecule molecule = star(3, 12.011, 1.09);
  const ConstraintGroup group = molecule.group();
  for (double tolerance : {1e-4, 1e-8, 1e-14}) {
    for (int trial = 0; trial < 200; ++trial) {
      const std::vector<Vec3> before = placed(molecule.shape, random, 1);
      std::vector<Vec3> after = before;
      for (Vec3& r : after) r += random_vector(random, 0.05);
      ASSERT_TRUE(shake_positions(group, before, after, tolerance));
      for (std::size_t i = 1; i <= 3; ++i) {
        EXPECT_NEAR(norm(after[i] - after[0]), 1.09, 1.1 * 1.09 * tolerance + 1e-15);
      }
    }
  }
}

TEST(Shake, VelocitiesAreAProjection) {
  std::mt19937_64 random(33);
  for (const Molecule& molecule : molecules()) {
    const ConstraintGroup group = molecule.group();
    for (int trial = 0; trial < 200; ++trial) {
      const std::vector<Vec3> position = placed(molecule.shape, random);
      std::vector<Vec3> velocity;
      for (std::size_t i = 0; i < position.size(); ++i) velocity.push_back(random_vector(random, 15));
      const std::vector<Vec3> before = velocity;
      ASSERT_TRUE(rattle_velocities(group, position, velocity));
      check_velocities(molecule, position, before, velocity);
    }
  }
}

TEST(Shake, FreeMethylsKeepTheirEnergy) {
  // The molecule is rigid methane, as the hydrogens of a methyl group without angles would collide.
  std::mt19937_64 random(34);
  for (const Molecule& molecule : {molecules()[6], star(1, 15.9994, 0.96)}) {
    const ConstraintGroup group = molecule.group();
    std::vector<Vec3> velocity;
    for (double mass : molecule.mass) velocity.push_back(random_vector(random, 25 / std::sqrt(mass)));
    check_free_rotor(
        molecule, placed(molecule.shape, random, 2), velocity, 0.001,
        [&](const std::vector<Vec3>& before, std::vector<Vec3>& after) {
          ASSERT_TRUE(shake_positions(group, before, after, 1e-13));
        },
        [&](const std::vector<Vec3>& position, std::vector<Vec3>& v) {
          ASSERT_TRUE(rattle_velocities(group, position, v));
        });
  }
}

TEST(Shake, SaysWhenItFails) {
  const Molecule bond = star(1, 12, 1);
  const std::vector<Vec3> before = bond.shape;
  // The atoms are displaced sideways by more than the length, so no point along the old bond is near enough.
  std::vector<Vec3> after = before;
  after[1] += 5.0 * Vec3{1, -1, 0};
  const std::vector<Vec3> torn = after;
  EXPECT_FALSE(shake_positions(bond.group(), before, after));
  EXPECT_EQ(after[1].x, torn[1].x);
  after[1].x = std::nan("");
  EXPECT_FALSE(shake_positions(bond.group(), before, after));

  Molecule twice = star(1, 12, 1);
  twice.pairs.push_back({1, 0});
  std::vector<Vec3> velocity{{1, 2, 3}, {4, 5, 6}};
  EXPECT_FALSE(rattle_velocities(twice.group(), before, velocity));
  EXPECT_EQ(velocity[0].x, 1);
}

TEST(Shake, RefusesABadGroup) {
  const std::vector<std::array<std::int32_t, 2>> pair{{0, 1}};
  const std::vector<double> length{1}, zero{0}, mass{12, 1}, massless{12, 0}, many(9, 1.0);
  EXPECT_THROW(make_constraint_group(pair, zero, mass), InputError);
  EXPECT_THROW(make_constraint_group(pair, length, massless), InputError);
  EXPECT_THROW(make_constraint_group(pair, length, many), InputError);
  EXPECT_EQ(make_constraint_group(pair, length, mass).n_constraints, 1);
}

TEST(Shake, AnEmptyGroupIsNothing) {
  const ConstraintGroup group = make_constraint_group({}, {}, {});
  EXPECT_TRUE(shake_positions(group, {}, {}));
  EXPECT_TRUE(rattle_velocities(group, {}, {}));
}

}  // namespace
}  // namespace tessera::md::constraint
