#include "tessera/md/minimize/stiffness.h"

#include <gtest/gtest.h>

namespace tessera::md::minimize {
namespace {

/// Returns a unit of a chain: an atom with a hydrogen, and one that is bound to the next unit.
model::Template unit() {
  model::Template kind;
  kind.type = {0, 1, 0};
  kind.group = {0, 0, 2};
  kind.terms[model::bond].atoms = {{0, 1}, {0, 2}, {2, 3}};
  kind.terms[model::bond].parameter = {0, 1, 1};
  kind.terms[model::bond_quartic].atoms = {{0, 2}};
  kind.terms[model::bond_quartic].parameter = {0};
  return kind;
}

TEST(Stiffness, IsThatOfTheBondsOfAnAtom) {
  model::ForceField field;
  field.parameters[model::bond] = {{340, 1.1}, {300, 1.5}};
  field.parameters[model::bond_quartic] = {{2, 1.5}};
  model::Template alone;
  alone.type = {0};
  alone.group = {0};
  const double others = stiffness_of(field, alone, false)[0];
  EXPECT_GT(others, 0);
  const double quartic = 8 * 2 * 1.5 * 1.5;
  EXPECT_EQ(stiffness_of(field, unit(), false),
            (std::vector<double>{others + 680 + 600 + quartic, others + 680, others + 1200 + quartic}));
  EXPECT_EQ(stiffness_of(field, unit(), true),
            (std::vector<double>{others + 600 + quartic, others, others + 1200 + quartic}));
  field.parameters[model::bond][0].k = -1e6;  // of a force field that pushes apart
  EXPECT_EQ(stiffness_of(field, unit(), false)[1], others);
}

}  // namespace
}  // namespace tessera::md::minimize
