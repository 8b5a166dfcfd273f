#include "tessera/md/constraint/fastest_vibration.h"

#include <gtest/gtest.h>

#include "tessera/base/units.h"

namespace tessera::md::constraint {
namespace {

/// Returns one flexible TIP3P water, which has SETTLE's lengths if constraints are on.
model::System water() {
  model::System system;
  system.force_field.parameters[model::bond] = {{450, 0.9572}};
  system.force_field.parameters[model::angle] = {{55, 104.52 * 3.14159265358979 / 180}};
  auto& t = system.templates.emplace_back();
  t.name = "TIP3";
  t.atom_name = {"O", "H1", "H2"};
  t.mass = {15.9994, 1.008, 1.008};
  t.atomic_number = {8, 1, 1};
  t.type = {0, 0, 0};
  t.charge = {0, 0, 0};
  t.group = {0, 0, 0};
  t.rigid_water = true;
  t.water_oh = 0.9572;
  t.water_hh = 1.5139;
  t.terms[model::bond] = {{{0, 1}, {0, 2}}, {0, 0}};
  t.terms[model::angle] = {{{1, 0, 2}}, {0}};
  system.set_instances({{0, 1}});
  return system;
}

double period(double k, double inverse_mass) {
  return 2 * 3.14159265358979 / std::sqrt(2 * k * units::acceleration * inverse_mass);
}

TEST(FastestVibration, IsTheBondOfAFlexibleWater) {
  const auto found = find_fastest_vibration(water(), ConstraintMode::none);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->period, period(450, 1 / 15.9994 + 1 / 1.008), 1e-9);
  EXPECT_NEAR(found->period, 0.00997, 1e-5);  // ps: that of 3,346 cm⁻¹
  EXPECT_EQ(found->what, "the bond of O and H1 in molecule TIP3");
}

TEST(FastestVibration, IsNoneInARigidWater) { EXPECT_FALSE(find_fastest_vibration(water(), ConstraintMode::h_bonds)); }

TEST(FastestVibration, IsTheAngleWhereBondsAreRigid) {
  auto system = water();
  system.templates[0].rigid_water = false;
  const auto found = find_fastest_vibration(system, ConstraintMode::h_bonds);
  ASSERT_TRUE(found);
  const double cosine = std::cos(104.52 * 3.14159265358979 / 180), l2 = 0.9572 * 0.9572;
  EXPECT_NEAR(found->period, period(55, 2 / (1.008 * l2) + (2 - 2 * cosine) / (15.9994 * l2)), 1e-9);
  EXPECT_EQ(found->what, "the angle of H1, O and H2 in molecule TIP3");
}

TEST(FastestVibration, LeavesOutMoleculesThatDoNotOccur) {
  auto system = water();
  system.set_instances({{0, 0}});
  EXPECT_FALSE(find_fastest_vibration(system, ConstraintMode::none));
}

}  // namespace
}  // namespace tessera::md::constraint
