#include "tessera/md/constraint/groups.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::md::constraint {
namespace {

using tessera::test::expect_says;

model::ForceField field() {
  model::ForceField f;
  f.parameters[model::bond] = {{340, 1.09}, {310, 1.526}, {450, 0.9572}, {0, 1.5139}, {434, 1.01}};
  return f;
}

model::Template molecule(const std::string& name, const std::vector<std::int32_t>& atomic_number,
                         const std::vector<std::int32_t>& group) {
  model::Template t;
  t.name = name;
  t.atomic_number = atomic_number;
  t.group = group;
  for (std::int32_t z : atomic_number) {
    t.mass.push_back(z == 1 ? 1.008 : 2.0 * z);
    t.type.push_back(0);
    t.charge.push_back(0);
    t.atom_name.push_back(z == 1 ? "H" : "X");
  }
  return t;
}

void bond(model::Template& t, std::int32_t i, std::int32_t j, std::int32_t parameter) {
  t.terms[model::bond].atoms.push_back({i, j});
  t.terms[model::bond].parameter.push_back(parameter);
}

// Returns a molecule like CH3–CH2–OH: C 0 with H 1 2 3, C 4 with H 5 6, O 7 with H 8.
model::Template ethanol() {
  model::Template t = molecule("ETOH", {6, 1, 1, 1, 6, 1, 1, 8, 1}, {0, 0, 0, 0, 4, 4, 4, 7, 7});
  bond(t, 4, 0, 1);
  for (std::int32_t h : {3, 1, 2}) bond(t, h, 0, 0);
  for (std::int32_t h : {5, 6}) bond(t, 4, h, 0);
  bond(t, 4, 7, 1);
  bond(t, 7, 8, 2);
  return t;
}

model::Template water(bool rigid, bool always) {
  model::Template t = molecule("TIP3", {8, 1, 1}, {0, 0, 0});
  bond(t, 0, 1, 2);
  bond(t, 0, 2, 2);
  bond(t, 1, 2, 3);
  t.rigid_water = rigid;
  t.always_rigid = always;
  t.water_oh = 0.9572;
  t.water_hh = 1.5139;
  return t;
}

std::string message_of(const model::Template& t, ConstraintMode mode) {
  return tessera::test::message_of<InputError>([&] { make_template_constraints(field(), t, mode); });
}

TEST(Groups, HydrogenBondsOfAMolecule) {
  const auto c = make_template_constraints(field(), ethanol(), ConstraintMode::h_bonds);
  EXPECT_FALSE(c.settle);
  EXPECT_EQ(c.n_constraints, 6);
  ASSERT_EQ(c.groups.size(), 3u);
  EXPECT_EQ(c.groups[0].atoms, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(c.groups[1].atoms, (std::vector<std::int32_t>{4, 5, 6}));
  EXPECT_EQ(c.groups[2].atoms, (std::vector<std::int32_t>{7, 8}));
  EXPECT_EQ(c.groups[0].group.n_constraints, 3);
  EXPECT_DOUBLE_EQ(c.groups[0].group.distance2[1], 1.09 * 1.09);
  EXPECT_DOUBLE_EQ(c.groups[2].group.distance2[0], 0.9572 * 0.9572);
  EXPECT_DOUBLE_EQ(c.groups[2].group.inverse_mass[0], 1 / 16.0);
  EXPECT_DOUBLE_EQ(c.groups[2].group.inverse_mass[1], 1 / 1.008);
}

TEST(Groups, NoneIsNone) {
  const auto c = make_template_constraints(field(), ethanol(), ConstraintMode::none);
  EXPECT_TRUE(c.groups.empty());
  EXPECT_FALSE(c.settle);
  EXPECT_EQ(c.n_constraints, 0);
}

TEST(Groups, WaterIsSettledWhereItIsRigid) {
  for (ConstraintMode mode : {ConstraintMode::none, ConstraintMode::h_bonds, ConstraintMode::all_bonds}) {
    for (bool always : {false, true}) {
      const auto c = make_template_constraints(field(), water(true, always), mode);
      const bool rigid = always || mode != ConstraintMode::none;
      EXPECT_EQ(c.settle.has_value(), rigid);
      EXPECT_EQ(c.n_constraints, rigid ? 3 : 0);
      EXPECT_TRUE(c.groups.empty());
    }
  }
  // A water that is not marked rigid has its listed bonds, H–H among them, held by SHAKE.
  const auto c = make_template_constraints(field(), water(false, false), ConstraintMode::h_bonds);
  EXPECT_FALSE(c.settle);
  ASSERT_EQ(c.groups.size(), 1u);
  EXPECT_EQ(c.groups[0].group.n_constraints, 3);
}

TEST(Groups, AWaterOfUnequalHydrogensIsOneGroup) {
  for (const bool always : {false, true}) {
    model::Template hdo = water(true, always);
    hdo.mass[2] = 2.014;
    const auto c = make_template_constraints(field(), hdo, always ? ConstraintMode::none : ConstraintMode::h_bonds);
    EXPECT_TRUE(c.is_rigid_water);
    EXPECT_FALSE(c.settle);
    EXPECT_EQ(c.n_constraints, 3);
    ASSERT_EQ(c.groups.size(), 1u);
    EXPECT_EQ(c.groups[0].atoms, (std::vector<std::int32_t>{0, 1, 2}));
    EXPECT_EQ(c.groups[0].group.n_constraints, 3);
    EXPECT_DOUBLE_EQ(c.groups[0].group.distance2[2], 1.5139 * 1.5139);  // of the molecule, not of its H–H term
    EXPECT_DOUBLE_EQ(c.groups[0].group.inverse_mass[2], 1 / 2.014);
    EXPECT_EQ(make_template_constraints(field(), hdo, ConstraintMode::none).is_rigid_water, always);
  }
}

TEST(Groups, AHydrogenIsOneByItsElementWhateverItsMass) {
  model::Template t = ethanol();
  t.mass[8] = 3.024;  // hydrogen mass repartitioning
  EXPECT_EQ(make_template_constraints(field(), t, ConstraintMode::h_bonds).n_constraints, 6);
  t.atomic_number[8] = 0;  // a bead: `tessera prepare` names the hydrogens that it holds
  EXPECT_EQ(make_template_constraints(field(), t, ConstraintMode::h_bonds).n_constraints, 5);
}

TEST(Groups, AllBondsInsideOneHydrogenGroup) {
  model::Template t = molecule("CH4", {6, 1, 1, 1, 1}, {0, 0, 0, 0, 0});
  for (std::int32_t h = 1; h <= 4; ++h) bond(t, 0, h, 0);
  const auto c = make_template_constraints(field(), t, ConstraintMode::all_bonds);
  ASSERT_EQ(c.groups.size(), 1u);
  EXPECT_EQ(c.groups[0].group.n_constraints, 4);
}

TEST(Groups, AllBondsAcrossHydrogenGroupsIsRefused) {
  const std::string text = message_of(ethanol(), ConstraintMode::all_bonds);
  expect_says(text, "ETOH");
  expect_says(text, "atom 1 (X) and atom 5 (X)");
  expect_says(text, "h-bonds");
}

TEST(Groups, RefusesWhatCannotBeKept) {
  model::Template bridge = molecule("BRG", {6, 1, 6}, {0, 0, 2});  // a hydrogen between two heavy atoms
  bond(bridge, 0, 1, 0);
  bond(bridge, 1, 2, 0);
  expect_says(message_of(bridge, ConstraintMode::h_bonds), "joins two hydrogen groups");

  model::Template twice = molecule("OH", {8, 1}, {0, 0});
  bond(twice, 0, 1, 2);
  bond(twice, 1, 0, 2);  // a repeated bond counts once
  EXPECT_EQ(make_template_constraints(field(), twice, ConstraintMode::h_bonds).n_constraints, 1);
  bond(twice, 1, 0, 4);
  expect_says(message_of(twice, ConstraintMode::h_bonds), "listed twice");

  model::Template massless = molecule("OH", {8, 1}, {0, 0});
  bond(massless, 0, 1, 2);
  massless.mass[1] = 0;
  expect_says(message_of(massless, ConstraintMode::h_bonds), "mass");

  model::Template odd = water(true, false);
  odd.water_hh = 0;
  expect_says(message_of(odd, ConstraintMode::h_bonds), "TIP3");
}

TEST(Groups, WaterThatIsFlexibleInTheInputStaysSo) {
  model::Template t = molecule("SOL", {8, 1, 1}, {0, 0, 0});
  for (std::int32_t h : {1, 2}) bond(t, 0, h, 2);
  t.is_flexible = true;
  EXPECT_EQ(make_template_constraints(field(), t, ConstraintMode::h_bonds).n_constraints, 0);
  EXPECT_GT(make_template_constraints(field(), t, ConstraintMode::all_bonds).n_constraints, 0);
  t.is_flexible = false;
  EXPECT_GT(make_template_constraints(field(), t, ConstraintMode::h_bonds).n_constraints, 0);
}

TEST(Groups, BondsThatTheInputHoldsAreHeldInEveryRun) {
  model::Template t = molecule("SOL", {8, 1, 1}, {0, 0, 0});
  bond(t, 0, 1, 3);  // without a force
  bond(t, 0, 2, 2);
  EXPECT_EQ(make_template_constraints(field(), t, ConstraintMode::none).n_constraints, 0);
  t.always_rigid = true;
  EXPECT_EQ(make_template_constraints(field(), t, ConstraintMode::none).n_constraints, 1);
  EXPECT_EQ(make_template_constraints(field(), t, ConstraintMode::h_bonds).n_constraints, 2);
}

TEST(Groups, CountsOfASystem) {
  model::System system;
  system.force_field = field();
  system.templates = {ethanol(), water(true, false)};
  system.set_instances({{0, 2}, {1, 1000}, {0, 1}});
  EXPECT_EQ(count_constraints(system, make_constraints(system, ConstraintMode::h_bonds)), 3 * 6 + 3000);
  EXPECT_EQ(count_constraints(system, make_constraints(system, ConstraintMode::none)), 0);
}

}  // namespace
}  // namespace tessera::md::constraint
