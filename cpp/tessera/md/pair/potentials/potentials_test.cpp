// Checks pair potentials by themselves: forces against slopes, cores, tails, and the lookup table against formulas.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/units.h"
#include "tessera/md/pair/potentials/lookup_table.h"

namespace tessera::md::pair {
namespace {

using model::PairPotential;
using model::PairPotentialFunction;
using Kind = model::PairPotentialKind;

const std::vector<model::TabulatedPotential> tables = [] {
  model::TabulatedPotential table;
  for (int i = 1; i <= 1400; ++i) {
    const double r = 0.01 * i;
    table.points.push_back(
        {1000 * std::exp(-3 * r) - 50 / std::pow(r + 0.5, 6), 3000 * std::exp(-3 * r) - 300 / std::pow(r + 0.5, 7)});
  }
  return std::vector{table};
}();

/// All kinds, in their order, with parameters of usual sizes.
const std::vector<PairPotential> all_kinds = {
    {0, 0, Kind::buckingham, {5000, 0.3, 150}},
    {0, 0, Kind::born_huggins_mayer, {4.86, 3.1545, 2.755, 161.2, 200.1}},
    {0, 0, Kind::morse, {10, 2.1, 1.7}},
    {0, 0, Kind::morse_12, {10, 2.1, 1.7, 300}},
    {0, 0, Kind::n_m, {0.2, 9, 6, 3.4}},
    {0, 0, Kind::lj_12_6_4, {30000, 40, 130}},
    {0, 0, Kind::hydrogen_bond_12_10, {50000, 9000}},
    {0, 0, Kind::wca, {0.3, 3, 0.2}},
    {0, 0, Kind::buffered_14_7, {0.15, 3.4}},
    {0, 0, Kind::rydberg, {900, 300, 0.4}},
    {0, 0, Kind::zbl, {332 * 11 * 17, 0.14}},
    {0, 0, Kind::table, {0, 0.01}},
};

PairSettings settings_with(LjModifier lj) {
  PairSettings settings;
  settings.cutoff = 10;
  settings.switch_distance = 8;
  settings.lj = lj;
  settings.electrostatics = Electrostatics::pme;
  settings.alpha = 0.3;
  return settings;
}

constexpr LjModifier served[] = {LjModifier::cut, LjModifier::potential_switch, LjModifier::quintic_switch};

model::ForceField field_of(const PairPotential& potential) {
  model::ForceField field;
  field.type_lj = {{1, 0}};
  field.type_name = {"A"};
  field.pair_tables = tables;
  field.pair_potentials = {potential};
  return field;
}

TEST(PairPotential, ForceIsMinusTheSlopeOfTheEnergy) {
  ASSERT_EQ(all_kinds.size(), model::pair_potential_names.size());
  for (const auto& potential : all_kinds) {
    const PairPotentialFunction function(potential, tables);
    // Below the core the force continues smoothly; the others are far inside and far outside of it.
    for (const double r : {0.5, 0.9, 1.3, 2.0, 2.9, 4.1, 7.9, 9.7, 13.1}) {
      const auto slope = [&](double h) { return (function(r - h).energy - function(r + h).energy) / (2 * h); };
      const double expected = (4 * slope(1e-4) - slope(2e-4)) / 3;
      EXPECT_NEAR(function(r).force, expected, 1e-6 * std::abs(expected) + 1e-10) << potential.name() << " at " << r;
    }
  }
}

TEST(PairPotential, ShortDistancesRepel) {
  for (const auto& potential : all_kinds) {
    const PairPotentialFunction function(potential, tables);
    EXPECT_EQ(function.core() > 0, potential.kind == Kind::buckingham || potential.kind == Kind::born_huggins_mayer ||
                                       potential.kind == Kind::table || potential.kind == Kind::wca)
        << potential.name();
    EXPECT_LT(function.core(), 1.5) << potential.name();
    double last = 0;
    for (double r = std::max(0.6, 1.1 * function.core()); r > 0.02; r *= 0.9) {
      const double force = function(r).force;
      if (r < function.core()) {
        EXPECT_GT(force, last) << potential.name() << " at " << r;
      }
      last = force;
    }
    EXPECT_GT(last, 0) << potential.name();
  }
  // An attraction alone has no core.
  const PairPotentialFunction attraction({0, 0, Kind::buckingham, {0, 1, 100}}, tables);
  EXPECT_EQ(attraction.core(), 0);
  EXPECT_DOUBLE_EQ(attraction(2).energy, -100.0 / 64);
}

TEST(PairPotential, ParametersWithoutMeaningAreRefused) {
  EXPECT_THROW(PairPotentialFunction({0, 0, Kind::n_m, {1, 6, 6, 3}}, tables), InputError);
  EXPECT_THROW(PairPotentialFunction({0, 0, Kind::buckingham, {1, 0, 6}}, tables), InputError);
  EXPECT_THROW(PairPotentialFunction({0, 0, Kind::table, {1, 0.01}}, tables), InputError);
  EXPECT_THROW(PairPotentialFunction({0, 0, Kind::morse, {NAN, 1, 1}}, tables), InputError);
}

TEST(ShortRange, TruncatedForceIsMinusTheSlopeOfTheEnergy) {
  for (const auto lj : served) {
    const auto settings = settings_with(lj);
    for (const auto& potential : all_kinds) {
      const PairPotentialFunction function(potential, tables);
      for (const double r : {2.5, 7.9, 8.1, 9.0, 9.9}) {
        const auto energy = [&](double x) { return truncated(settings, function, x * x).energy; };
        const double expected = (energy(r - 1e-4) - energy(r + 1e-4)) / 2e-4 / r;
        EXPECT_NEAR(truncated(settings, function, r * r).force_over_r, expected, 2e-6 * std::abs(expected) + 1e-9);
      }
      EXPECT_EQ(truncated(settings, function, 100).force_over_r, 0);
    }
  }
}

TEST(ShortRange, TailOfLennardJonesIsThatOfItsOwnFormula) {
  const double a = 30000, b = 40;
  const PairPotentialFunction same({0, 0, Kind::lj_12_6_4, {a, b, 0}}, tables);
  for (const auto lj : served) {
    const auto settings = settings_with(lj);
    const auto expected = lj_tail(settings, a, b), found = tail_of(settings, same);
    EXPECT_NEAR(found.energy, expected.energy, 1e-9 * std::abs(expected.energy));
    EXPECT_NEAR(found.virial, expected.virial, 1e-9 * std::abs(expected.virial));
  }
  const PairPotentialFunction slow({0, 0, Kind::n_m, {1, 9, 3, 3}}, tables);
  EXPECT_FALSE(slow.has_tail());
  const PairPotentialFunction fourth({0, 0, Kind::lj_12_6_4, {0, 0, 100}}, tables);
  EXPECT_NEAR(tail_of(settings_with(LjModifier::cut), fourth).energy, -2 * units::pi * 100 / 10, 1e-9);
}

TEST(LookupTable, IsAccurateToFloat) {
  for (const auto lj : served)
    for (const auto& potential : all_kinds) {
      const auto settings = settings_with(lj);
      const auto field = field_of(potential);
      const ShortRange functions(field, settings);
      const auto table = make_lookup_table(functions, settings, Lookup::all, 1);
      const double core = functions.potential(0, 0)->core();
      for (double r = 0.3; r < 9.999; r *= 1.0013) {
        const auto r2 = static_cast<float>(r * r);
        const auto bits = std::bit_cast<std::int32_t>(r2);
        const auto piece = std::clamp((bits >> (23 - LookupTable::bits)) - table.first, 0, table.last);
        const float u = std::bit_cast<float>((bits & ((1 << (23 - LookupTable::bits)) - 1)) | 0x3F800000) - 1;
        const auto evaluate = [&](const std::vector<float>& all) {
          const float* c = all.data() + LookupTable::per_piece * static_cast<std::size_t>(piece);
          return c[0] + u * (c[1] + u * (c[2] + u * c[3]));
        };
        const auto expected = functions(0, 0, static_cast<double>(r2));
        const double force = expected.force_over_r * static_cast<double>(r2);
        if (evaluate(table.force) == LookupTable::refused) {
          EXPECT_TRUE(r < 0.51 || r < 1.01 * core) << potential.name() << " at " << r;
          continue;
        }
        EXPECT_GT(r, core);
        // The slope of WCA's force jumps at its end, which is inside a piece.
        if (potential.kind == Kind::wca && std::abs(r / (std::exp2(1.0 / 6) * 3 + 0.2) - 1) < 0.01) continue;
        // Potentials of two parts that nearly cancel are measured by the steepest of nearby distances.
        const auto scale = [&](auto&& of) {
          return std::max({std::abs(of(r)), std::abs(of(0.93 * r)), std::abs(of(std::min(1.07 * r, 9.999)))});
        };
        const double f = scale([&](double x) { return functions(0, 0, x * x).force_over_r * x * x; });
        const double e = scale([&](double x) { return functions(0, 0, x * x).energy; });
        EXPECT_NEAR(evaluate(table.force), force, 1e-6 * f) << potential.name() << " at " << r;
        EXPECT_NEAR(evaluate(table.energy), expected.energy, 1e-6 * e) << potential.name() << " at " << r;
      }
    }
}

}  // namespace
}  // namespace tessera::md::pair
