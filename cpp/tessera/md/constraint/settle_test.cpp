#include "tessera/md/constraint/settle.h"

#include "tessera/base/error.h"
#include "tessera/md/constraint/constraint_test_support.h"

namespace tessera::md::constraint {
namespace {

using namespace test;

using Three = std::array<Vec3, 3>;
Three three(const std::vector<Vec3>& r) { return {r[0], r[1], r[2]}; }

SettleParameters tip3p() { return make_settle(15.9994, 1.008, 0.9572, 1.5139); }

TEST(Settle, LeavesAMovedMoleculeAlone) {
  std::mt19937_64 random(21);
  for (int trial = 0; trial < 100; ++trial) {
    const Three before = three(placed(water().shape, random));
    const Vec3 shift = random_vector(random, 0.1);
    Three after = before;
    for (Vec3& r : after) r += shift;
    const Three expected = after;
    ASSERT_TRUE(settle_positions(tip3p(), before, after));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_LT(norm(after[i] - expected[i]), 1e-13);
  }
}

TEST(Settle, AStretchedSymmetricMoleculeByHand) {
  // Both hydrogens are pulled apart along H–H by x; the correction pushes them back without a rotation.
  const Three before = three(water().shape);
  Three after = before;
  after[1].x += 0.05;
  after[2].x -= 0.05;
  ASSERT_TRUE(settle_positions(tip3p(), before, after));
  EXPECT_NEAR(after[1].x, 1.5139 / 2, 1e-14);
  EXPECT_NEAR(after[2].x, -1.5139 / 2, 1e-14);
  EXPECT_NEAR(after[0].x, 0, 1e-14);
  // The result is symmetric and on the same axis; only the centre of mass determines the height.
  EXPECT_NEAR(after[0].y, before[0].y, 1e-13);
}

TEST(Settle, RestoresDistancesAndKeepsMomenta) {
  std::mt19937_64 random(22);
  for (int trial = 0; trial < 2000; ++trial) {
    const Three before = three(placed(water().shape, random));
    const double size = trial % 4 == 0 ? 0.15 : 0.03;  // a usual step moves a hydrogen by 0.03 Å
    Three after = before;
    for (Vec3& r : after) r += random_vector(random, size);
    const Three unconstrained = after;
    ASSERT_TRUE(settle_positions(tip3p(), before, after));
    check_positions(water(), before, unconstrained, after, 1e-13);
  }
}

TEST(Settle, EqualsShake) {
  std::mt19937_64 random(23);
  const ConstraintGroup group = water().group();
  for (int trial = 0; trial < 1000; ++trial) {
    const Three before = three(placed(water().shape, random));
    Three settled = before;
    for (Vec3& r : settled) r += random_vector(random, 0.08);
    Three shaken = settled;
    ASSERT_TRUE(settle_positions(tip3p(), before, settled));
    ASSERT_TRUE(shake_positions(group, before, shaken, 1e-14));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_LT(norm(settled[i] - shaken[i]), 1e-12);
  }
}

TEST(Settle, FreeRotorKeepsItsEnergy) {
  std::mt19937_64 random(25);
  const SettleParameters p = tip3p();
  const ConstraintGroup group = water().group();
  std::vector<Vec3> velocity;
  for (int i = 0; i < 3; ++i) velocity.push_back(random_vector(random, 15));  // Å/ps, about 300 K
  check_free_rotor(
      water(), placed(water().shape, random, 2), velocity, 0.001,
      [&](const std::vector<Vec3>& before, std::vector<Vec3>& after) {
        Three r = three(after);
        ASSERT_TRUE(settle_positions(p, three(before), r));
        after.assign(r.begin(), r.end());
      },
      [&](const std::vector<Vec3>& position, std::vector<Vec3>& v) {
        ASSERT_TRUE(rattle_velocities(group, position, v));
      });
}

TEST(Settle, SaysWhenAMoleculeIsTorn) {
  const Three before = three(water().shape);
  Three after = before;
  after[1].z += 50;
  const Three torn = after;
  EXPECT_FALSE(settle_positions(tip3p(), before, after));
  EXPECT_EQ(after[1].z, torn[1].z);
  after = before;
  after[2].x = std::nan("");
  EXPECT_FALSE(settle_positions(tip3p(), before, after));
}

TEST(Settle, RefusesWhatIsNoWater) {
  EXPECT_THROW(make_settle(16, 1, 0.95, 1.91), InputError);
  EXPECT_THROW(make_settle(16, 1, -0.95, 1.5), InputError);
  EXPECT_THROW(make_settle(16, 0, 0.95, 1.5), InputError);
}

}  // namespace
}  // namespace tessera::md::constraint
