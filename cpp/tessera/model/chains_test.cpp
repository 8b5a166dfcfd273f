#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/model/system.h"

namespace tessera::model {
namespace {

/// Returns a unit of two atoms, the first of which is bonded to the first of the next unit if there is one.
Template unit(bool has_next, bool has_previous) {
  Template t;
  t.name = t.residue_name.emplace_back("U");
  t.segment_name = {"S"};
  t.residue_number = {1};
  t.atom_name = {"A", "B"};
  t.type = {0, 0};
  t.charge = {0.1, -0.3};
  t.mass = {12, 1};
  t.atomic_number = {6, 1};
  t.residue = {0, 0};
  t.group = {0, 0};
  t.terms[bond] = {{{0, 1}}, {0}};
  t.exclusions = {{0, 1}};
  if (has_next) {
    t.terms[bond].atoms.push_back({0, 2});
    t.terms[bond].parameter.push_back(1);
    t.exclusions.push_back({0, 2});
  }
  if (has_previous) t.exclusions.push_back({-2, 0});
  return t;
}

/// Returns a system of two single molecules, a chain of 1 + 3 + 1 units, and one more single molecule.
System one_chain() {
  System system;
  system.templates = {unit(false, false), unit(true, false), unit(true, true), unit(false, true)};
  system.set_instances({{0, 2}, {1, 1}, {2, 3}, {3, 1}, {0, 1}});
  system.set_chains({{1, 3}});
  return system;
}

TEST(Chains, AreTheMoleculesOfTheirAtoms) {
  const auto system = one_chain();
  for (std::int64_t id = 0; id < system.n_atoms(); ++id) {
    const auto molecule = system.molecule_of(id);
    const bool is_in_chain = id >= 4 && id < 14;
    EXPECT_EQ(molecule.first_id, is_in_chain ? 4 : id / 2 * 2) << id;
    EXPECT_EQ(molecule.n_atoms, is_in_chain ? 10 : 2) << id;
    EXPECT_EQ(molecule.n_equal, id < 2 ? 2 : 1) << id;
    EXPECT_EQ(molecule.kind, is_in_chain ? 4 : 0) << id;
  }
  EXPECT_EQ(system.find(9).molecule, 2);
  EXPECT_EQ(system.find(9).first_id, 8);
}

TEST(Chains, JoinToOneMolecule) {
  const auto whole = one_chain().joined(2, 5);
  ASSERT_EQ(whole.n_atoms(), 10);
  EXPECT_EQ(whole.group[7], 6);
  EXPECT_EQ(whole.residue[9], 4);
  const auto& bonds = whole.terms[bond].atoms;
  ASSERT_EQ(bonds.size(), 9U);
  EXPECT_EQ(bonds[3], (std::array{2, 4}));
  EXPECT_EQ(whole.exclusions.size(), 9U);
  EXPECT_EQ(whole.reach(), (std::array<std::int64_t, 2>{0, 9}));
  // Of a part, what reaches out of it is left out.
  EXPECT_EQ(one_chain().joined(3, 2).terms[bond].atoms.size(), 3U);
}

TEST(Chains, SumsAreThoseOfTheWholeMolecule) {
  const auto system = one_chain();
  System whole;
  whole.templates = {system.templates[0], system.joined(2, 5)};
  whole.set_instances({{0, 2}, {1, 1}, {0, 1}});
  EXPECT_EQ(system.net_charge(), whole.net_charge());
  EXPECT_EQ(system.sum_of_squared_charges(), whole.sum_of_squared_charges());
  EXPECT_EQ(system.total_mass(), whole.total_mass());
}

TEST(Chains, AtomsOfOtherMoleculesAreRefused) {
  auto system = one_chain();
  EXPECT_THROW(system.set_chains({}), InputError);
  EXPECT_THROW(system.set_chains({{1, 2}}), InputError);
  EXPECT_THROW(system.set_chains({{2, 2}}), InputError);
  EXPECT_THROW(system.set_chains({{1, 3}, {3, 1}}), InputError);
  EXPECT_THROW(system.set_chains({{1, 9}}), InputError);
  EXPECT_NO_THROW(system.set_chains({{1, 3}, {4, 1}}));
}

}  // namespace
}  // namespace tessera::model
