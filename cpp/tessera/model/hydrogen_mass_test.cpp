#include "tessera/model/hydrogen_mass.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::model {
namespace {

/// Returns a system of CH3-OH and a rigid water of the same elements.
System methanol_and_water() {
  System system;
  Template methanol;
  methanol.name = "MEOH";
  methanol.atom_name = {"C", "H1", "H2", "H3", "O", "HO"};
  methanol.atomic_number = {6, 1, 1, 1, 8, 1};
  methanol.mass = {12.011, 1.008, 1.008, 1.008, 15.999, 1.008};
  methanol.type.assign(6, 0);
  methanol.residue.assign(6, 0);
  methanol.residue_name = {"MOH"};
  methanol.group = {0, 0, 0, 0, 4, 4};
  Template water;
  water.rigid_water = true;
  water.atom_name = {"O", "H1", "H2"};
  water.atomic_number = {8, 1, 1};
  water.mass = {15.999, 1.008, 1.008};
  water.type.assign(3, 0);
  water.residue.assign(3, 0);
  water.residue_name = {"HOH"};
  water.group = {0, 0, 0};
  system.templates = {methanol, water};
  system.set_instances({{0, 3}, {1, 10}});
  return system;
}

TEST(HydrogenMass, ComesFromTheBondedAtom) {
  auto system = methanol_and_water();
  const double before = system.total_mass();
  repartition_hydrogen_mass(system, 3.0);
  const auto& mass = system.templates[0].mass;
  EXPECT_NEAR(mass[0], 12.011 - 3 * (3.0 - 1.008), 1e-12);
  EXPECT_EQ(mass[1], 3.0);
  EXPECT_EQ(mass[5], 3.0);
  EXPECT_NEAR(mass[4], 15.999 - (3.0 - 1.008), 1e-12);
  EXPECT_EQ(system.templates[1].mass[1], 1.008);
  EXPECT_NEAR(system.total_mass(), before, 1e-9);
}

// A virtual site between C and O has joined their groups.
TEST(HydrogenMass, ComesFromTheBondedAtomWhereSitesJoinGroups) {
  auto system = methanol_and_water();
  auto& methanol = system.templates[0];
  methanol.atom_name.push_back("X");
  methanol.atomic_number.push_back(0);
  methanol.mass.push_back(0);
  methanol.type.push_back(0);
  methanol.residue.push_back(0);
  methanol.group.assign(7, 0);
  methanol.terms[bond] = {{{0, 1}, {2, 0}, {0, 3}, {0, 4}, {4, 5}}, {0, 0, 0, 0, 0}};
  methanol.virtual_sites = {{6, SiteFrame::none, {}, {{0, 0.5, 0, 0}, {4, 0.5, 0, 0}}}};
  system.set_instances({{0, 3}, {1, 10}});
  repartition_hydrogen_mass(system, 3.0);
  EXPECT_NEAR(methanol.mass[0], 12.011 - 3 * (3.0 - 1.008), 1e-12);
  EXPECT_NEAR(methanol.mass[4], 15.999 - (3.0 - 1.008), 1e-12);
  EXPECT_EQ(methanol.mass[6], 0);
  EXPECT_EQ(system.n_virtual_sites(), 3);
}

TEST(HydrogenMass, LeavesEveryAtomAMass) {
  auto system = methanol_and_water();
  test::expect_says(test::message_of<InputError>([&] { repartition_hydrogen_mass(system, 5.1); }), "atom C of MOH");
}

}  // namespace
}  // namespace tessera::model
