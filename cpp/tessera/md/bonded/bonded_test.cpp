// Tests all kinds of bonded terms together: threads, tables and the list of terms.
#include "tessera/md/bonded/bonded.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/md/bonded/bonded_test_support.h"

namespace tessera::md::bonded {
namespace {

using namespace test;

TESSERA_WITH_EACH_INSTRUCTION_SET(AddAll);

model::ForceField every_kind(double scale) {
  model::ForceField field;
  field.coulomb_constant = 332 * scale;
  field.parameters[model::bond] = {{300 * scale, 1.5}, {250 * scale, 1.3}};
  field.parameters[model::urey_bradley] = {{20 * scale, 2.4}};
  field.parameters[model::angle] = {{50 * scale, 1.9}};
  for (int n = 1; n <= 4; ++n) field.parameters[model::dihedral].push_back({0.4 * n * scale, double(n), 0.7 * n});
  field.parameters[model::dihedral_rb] = {{{1 * scale, -2 * scale, 0.5 * scale, 0, 0.25 * scale, 0.1 * scale}}};
  field.parameters[model::improper_harmonic] = {{5 * scale, 0.2}};
  field.parameters[model::improper_periodic] = {{2 * scale, 2, units::pi}};
  model::CmapParameter cmap{6, {}};
  for (int i = 0; i < 36; ++i) cmap.energy.push_back(scale * ((i * 11) % 7));
  field.parameters[model::cmap] = {cmap};
  field.parameters[model::pair_14] = {{2.8, 0.05 * scale, 0.8}};
  return field;
}

LocalTerms chain_terms(std::int32_t n) {
  LocalTerms terms;
  for (std::int32_t i = 0; i + 1 < n; ++i) terms[model::bond].add({i, i + 1}, i % 2);
  for (std::int32_t i = 0; i + 2 < n; ++i) {
    terms[model::angle].add({i, i + 1, i + 2}, 0);
    terms[model::urey_bradley].add({i, i + 2}, 0);
  }
  for (std::int32_t i = 0; i + 3 < n; ++i) {
    for (std::int32_t row = 0; row <= i % 4; ++row) terms[model::dihedral].add({i, i + 1, i + 2, i + 3}, row);
    if (i % 3 == 0) terms[model::dihedral_rb].add({i, i + 1, i + 2, i + 3}, 0);
    if (i % 5 == 0) terms[model::improper_harmonic].add({i, i + 1, i + 2, i + 3}, 0);
    if (i % 4 == 0) terms[model::improper_periodic].add({i, i + 1, i + 2, i + 3}, 0);
    terms[model::pair_14].add({i, i + 3}, 0);
  }
  for (std::int32_t i = 0; i + 4 < n; i += 2)
    terms[model::cmap].add({i, i + 1, i + 2, i + 3, i + 1, i + 2, i + 3, i + 4}, 0);
  return terms;
}

TEST_P(AddAll, ThreadsAddUpToTheSameBits) {
  std::mt19937_64 random(13);
  const std::int32_t n = 23;
  const Box box({60, 0, 0}, {0, 60, 0}, {0, 0, 60});
  const auto x = fractions(box, random_chain(random, n));
  std::vector<double> charge;
  for (std::int32_t i = 0; i < n; ++i) charge.push_back(0.1 * (i % 5) - 0.2);
  const LocalTerms terms = chain_terms(n);
  const ForceTables tables = make_force_tables(every_kind(1));
  const auto with_threads = [&](int n_threads) {
    return measure(box, x, [&](const Box& its_box, Positions r, Accumulator& a) {
      for (int thread = n_threads - 1; thread >= 0; --thread) {
        add_all(its_box, r, charge, terms, tables, thread, n_threads, a);
      }
    });
  };
  const Result one = with_threads(1);
  for (Term term : {Term::bond, Term::angle, Term::urey_bradley, Term::dihedral, Term::improper, Term::cmap,
                    Term::lj_14, Term::coulomb_14}) {
    EXPECT_NE(one.term(term), 0) << term_names[static_cast<std::size_t>(term)];
  }
  for (int n_threads : {2, 3, 4, 7, 16, 64}) {
    const Result many = with_threads(n_threads);
    EXPECT_EQ(many.fixed_force, one.fixed_force) << n_threads;
    EXPECT_EQ(many.fixed.energy, one.fixed.energy) << n_threads;
    EXPECT_EQ(many.fixed.virial, one.fixed.virial) << n_threads;
  }
}

TEST_P(AddAll, ObeysTheLaws) {
  std::mt19937_64 random(14);
  const LocalTerms terms = chain_terms(7);
  const ForceTables tables = make_force_tables(every_kind(strong));
  const std::vector<double> charge{0.1, -0.2, 0.3, -0.1, 0.05, 0.2, -0.3};
  const Add add = [&](const Box& box, Positions r, Accumulator& a) { add_all(box, r, charge, terms, tables, 0, 1, a); };
  int checked = 0;
  while (checked < 5) {
    const auto r = random_chain(random, 7);
    double nearest = 10;
    for (const auto& s : terms[model::pair_14].slots) {
      nearest = std::min(nearest, norm(r[static_cast<std::size_t>(s[0])] - r[static_cast<std::size_t>(s[1])]));
    }
    if (nearest < 1.8) continue;
    check_potential(small_box(), r, add, 1e-5);
    ++checked;
  }
}

TEST(ForceTables, RefuseWhatCannotBeUsed) {
  auto field = every_kind(1);
  field.parameters[model::improper_periodic][0].n = 1.5;
  EXPECT_THROW(make_force_tables(field), InputError);
  field = every_kind(1);
  field.parameters[model::cmap][0].energy.pop_back();
  EXPECT_THROW(make_force_tables(field), InputError);
}

}  // namespace
}  // namespace tessera::md::bonded
