// Compares the table with the functions that it replaces.
#include "tessera/pair_schemes/pair_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::pair_schemes {
namespace {

/// Returns the greatest error of interpolated F/r, relative to that of an unmodified r⁻¹², r⁻⁶ or 1/r.
double greatest_error(const PairSettings& settings, double density) {
  const auto table = make_pair_table(settings, density);
  double error = 0;
  for (double r = shortest_in_table; r < settings.cutoff; r += 1e-3) {
    const double r2 = r * r, x = static_cast<double>(table.scale) / r2;
    const auto point = static_cast<std::size_t>(x);
    const auto compare = [&](PairTable::Function function, const ForceEnergy& exact, double scale, double plain) {
      const auto* at = &table.force[point * PairTable::stride + function];
      const double value = static_cast<double>(at[0]) + (x - static_cast<double>(point)) * static_cast<double>(at[1]);
      error = std::max(error, std::abs(scale * value - exact.force_over_r) * r2 / plain);
    };
    compare(PairTable::repulsion, lennard_jones(settings, 1, 0, r2), 12, std::pow(r, -12));
    compare(PairTable::dispersion, lennard_jones(settings, 0, -1, r2), 6, std::pow(r, -6));
    compare(PairTable::coulomb, coulomb(settings, r2), 1, 1 / r);
  }
  return error;
}

PairSettings settings_of(LjModifier lj, Electrostatics electrostatics) {
  PairSettings settings;
  settings.lj = lj;
  settings.electrostatics = electrostatics;
  settings.coulomb_switch = 10;
  settings.alpha = 0.26;
  return settings;
}

TEST(PairTable, TwiceTheDensityIsFourTimesAsGood) {
  for (const auto lj : {LjModifier::cut, LjModifier::potential_switch})
    for (const auto electrostatics : {Electrostatics::pme, Electrostatics::cut}) {
      const auto settings = settings_of(lj, electrostatics);
      const auto coarse = greatest_error(settings, 50), fine = greatest_error(settings, 100);
      EXPECT_NEAR(coarse / fine, 4, 0.8);
      EXPECT_LT(fine, 0.02);
    }
}

TEST(PairTable, AnyFunctionConverges) {
  for (const auto lj : {LjModifier::cut, LjModifier::potential_switch, LjModifier::force_switch,
                        LjModifier::force_switch_gromacs, LjModifier::quintic_switch})
    for (const auto electrostatics :
         {Electrostatics::pme, Electrostatics::cut, Electrostatics::shift, Electrostatics::force_switch}) {
      EXPECT_LT(greatest_error(settings_of(lj, electrostatics), 2000), 1e-3)
          << static_cast<int>(lj) << " " << static_cast<int>(electrostatics);
    }
}

// Points are dense where atoms are close, so the error there is that of single precision.
TEST(PairTable, IsDensestWhereAtomsAreClose) {
  auto near = settings_of(LjModifier::cut, Electrostatics::pme);
  const auto table = make_pair_table(near, 100);
  const auto r_of = [&](double point) { return std::sqrt(static_cast<double>(table.scale) / point); };
  EXPECT_NEAR(r_of(100), near.cutoff, 1e-9);
  EXPECT_LT(r_of(100) - r_of(101), 0.06);
  EXPECT_LE(r_of(table.n_points - 2), shortest_in_table);
  EXPECT_LT(r_of(table.n_points - 3) - r_of(table.n_points - 2), 4e-5);
}

}  // namespace
}  // namespace tessera::pair_schemes
