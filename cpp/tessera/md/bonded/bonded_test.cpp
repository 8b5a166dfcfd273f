// Tests all kinds of bonded terms together: threads, tables and the list of terms.
#include "tessera/md/bonded/bonded.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/md/bonded/bonded_test_support.h"

namespace tessera::md::bonded {
namespace {

using namespace test;

TESSERA_WITH_EACH_INSTRUCTION_SET(AddAll);

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
