#include "tessera/model/system.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"

namespace tessera::model {
namespace {

Template molecule(std::string name, std::vector<double> charge, std::vector<std::int32_t> type) {
  Template t;
  t.name = name;
  t.charge = std::move(charge);
  t.type = std::move(type);
  for (std::size_t a = 0; a < t.type.size(); ++a) {
    t.atom_name.push_back("A" + std::to_string(a));
    t.mass.push_back(1);
    t.atomic_number.push_back(1);
    t.residue.push_back(0);
    t.group.push_back(static_cast<std::int32_t>(a));
  }
  t.residue_name = {name};
  t.segment_name = {"S"};
  t.residue_number = {7};
  return t;
}

System three_runs() {
  System system;
  system.force_field.type_lj = {{3, 0.1}, {2, 0.4}};
  system.templates = {molecule("WAT", {-0.8, 0.4, 0.4}, {0, 1, 1}), molecule("ION", {1}, {0})};
  system.set_instances({{0, 5}, {1, 4}, {0, 2}});
  return system;
}

TEST(System, FindsEveryAtomOfEveryRun) {
  const auto system = three_runs();
  ASSERT_EQ(system.n_atoms(), 15 + 4 + 6);
  std::int64_t id = 0;
  for (const auto& [molecule, count] : {std::pair(0, 5), {1, 4}, {0, 2}})
    for (int m = 0; m < count; ++m) {
      const auto first = id;
      for (int a = 0; a < (molecule == 0 ? 3 : 1); ++a, ++id) {
        const auto reference = system.find(id);
        EXPECT_EQ(reference.molecule, molecule);
        EXPECT_EQ(reference.local, a);
        EXPECT_EQ(reference.first_id, first);
      }
    }
}

TEST(System, EmptyRunsAreSkipped) {
  auto system = three_runs();
  system.set_instances({{1, 0}, {0, 1}, {1, 0}, {1, 2}});
  EXPECT_EQ(system.n_atoms(), 5);
  EXPECT_EQ(system.find(0).molecule, 0);
  EXPECT_EQ(system.find(3).molecule, 1);
}

TEST(System, CountsPastThirtyTwoBits) {
  auto system = three_runs();
  system.set_instances({{0, 3000000000}, {1, 1}});
  EXPECT_EQ(system.n_atoms(), 9000000001);
  EXPECT_EQ(system.find(9000000000).molecule, 1);
  EXPECT_EQ(system.find(8999999999).local, 2);
  EXPECT_EQ(system.find(8999999999).first_id, 8999999997);
}

TEST(System, Sums) {
  const auto system = three_runs();
  EXPECT_NEAR(system.net_charge(), 4, 1e-12);
  EXPECT_NEAR(system.sum_of_squared_charges(), 7 * (0.64 + 0.16 + 0.16) + 4, 1e-12);
  EXPECT_EQ(system.type_counts(), (std::vector<std::int64_t>{11, 14}));
}

TEST(System, DescribesAtomsByTheInputsNumbers) {
  auto system = three_runs();
  EXPECT_EQ(system.describe(4), "atom 5 (WAT A1, molecule 2)");
  system.residue_numbers = {{0, 5, 731, 1}, {9, 2, 3, -2}};
  EXPECT_EQ(system.describe(13), "atom 14 (WAT 735 A1)");
  EXPECT_EQ(system.describe(15), "atom 16 (ION A0, molecule 6)");
  EXPECT_EQ(system.describe(24), "atom 25 (WAT 1 A2)");
  system.set_instances({{0, 1}, {1, 1}});
  system.residue_numbers.clear();
  EXPECT_EQ(system.describe(1), "atom 2 (WAT 7 A1)");
}

TEST(System, DescribesResiduesOfCopies) {
  auto system = three_runs();
  auto& chain = system.templates[0];
  chain.residue = {0, 1, 1};
  chain.residue_name = {"ALA", "GLY"};
  chain.residue_number = {7, 9};
  EXPECT_EQ(system.describe(5), "atom 6 (GLY 9 A2, molecule 2)");
  system.residue_numbers = {{0, 5, 7, 10}};
  EXPECT_EQ(system.describe(5), "atom 6 (GLY 19 A2)");
  EXPECT_EQ(system.describe(3), "atom 4 (ALA 17 A0)");
}

TEST(System, RefusesRunsOfUnknownTemplates) {
  auto system = three_runs();
  EXPECT_THROW(system.set_instances({{2, 1}}), InputError);
  EXPECT_THROW(system.set_instances({{-1, 1}}), InputError);
  EXPECT_THROW(system.set_instances({{0, -1}}), InputError);
}

TEST(ForceField, PairsByRuleOrByException) {
  ForceField force_field;
  force_field.type_lj = {{3, 0.1}, {2, 0.4}};
  auto mixed = force_field.lj(0, 1);
  EXPECT_NEAR(mixed.a, 4 * 0.2 * std::pow(2.5, 12), 1e-7);
  EXPECT_NEAR(mixed.b, 4 * 0.2 * std::pow(2.5, 6), 1e-9);
  force_field.lj_rule = LjRule::geometric;
  mixed = force_field.lj(1, 0);
  EXPECT_NEAR(mixed.a, 4 * 0.2 * std::pow(6.0, 6), 1e-7);
  EXPECT_NEAR(mixed.b, 4 * 0.2 * std::pow(6.0, 3), 1e-9);
  force_field.nbfix = {{1, 0, {123, 45}}};
  EXPECT_EQ(force_field.lj(0, 1).a, 123);
  EXPECT_EQ(force_field.lj(1, 0).b, 45);
  EXPECT_NE(force_field.lj(0, 0).a, 123);
}

}  // namespace
}  // namespace tessera::model
