// Computes the functions of distance that act between two atoms, in double precision. Tests compare the fast kernels
// with them, and reports quote their values.
//
//   Lennard-Jones  U₀ = A/r¹² − B/r⁶ with a modifier:
//     cut                   U₀ up to r_c
//     potential-switch      S·U₀, S = (1−u)²(1+2u), u = (r²−r_s²)/(r_c²−r_s²)         (CHARMM, NAMD, GENESIS)
//     force-switch          Steinbach & Brooks, J. Comput. Chem. 15, 667 (1994), eqs. 10–13, doi:10.1002/jcc.540150702
//     force-switch-gromacs  F_p = p/r^(p+1) + A(r−r_s)² + B(r−r_s)³                    (GROMACS manual, 5.10)
//     quintic-switch        S·U₀, S = 1 − 10x³ + 15x⁴ − 6x⁵, x = (r−r_s)/(r_c−r_s)     (OpenMM)
//     pme                   U₀ + C(1 − e^(−x²)(1 + x² + x⁴/2))/r⁶ less its value at r_c, x = β r, C = cᵢcⱼ,
//                           cᵢ² = B of i with itself; the mesh has the rest   (Essmann 1995, section 5; OpenMM,
//                           GROMACS)
//   Coulomb, times C qᵢqⱼ:
//     pme                   erfc(αr)/r
//     cut                   1/r
//     shift                 (1 − r²/r_c²)²/r                                           (CHARMM SHIFT)
//     force-switch          force S(r²)/r², Steinbach & Brooks eqs. 18–20              (CHARMM FSWITCH)
//
// Units: Å, kcal/mol. Every function gives F/r (so that the force on i is (F/r)(rᵢ−rⱼ)) and U.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "tessera/md/pair/ewald_exclusion.h"
#include "tessera/model/lj_truncation.h"

namespace tessera::md::pair {

using model::LjModifier;
enum class Electrostatics { pme, cut, shift, force_switch };
enum class Precision { mixed, double_precision };  // mixed: single with exact accumulation

// These are the names in run files, in the order of the enumerators.
inline constexpr std::array<std::string_view, 4> electrostatics_names = {"pme", "cut", "shift", "force-switch"};
inline constexpr std::array<std::string_view, 2> precision_names = {"mixed", "double"};
constexpr const auto& names_of(Electrostatics) { return electrostatics_names; }
constexpr const auto& names_of(Precision) { return precision_names; }

struct PairSettings {
  double cutoff = 12;           // Å, of Lennard-Jones, and of Coulomb unless stated otherwise
  double switch_distance = 10;  // Å
  LjModifier lj = LjModifier::force_switch;
  Electrostatics electrostatics = Electrostatics::pme;
  double coulomb_switch = 0;  // Å, of electrostatics force-switch
  double alpha = 0;           // Å⁻¹, of pme
  double lj_alpha = 0;        // Å⁻¹, of LjModifier::pme: β
  double direct_cutoff = 0;   // Å, of pme: where its direct sum ends, if beyond `cutoff`
  double coulomb_constant = 0;

  /// Returns the distance beyond which no pair interacts directly, Å.
  double range() const { return std::max(cutoff, electrostatics == Electrostatics::pme ? direct_cutoff : 0); }
};

struct ForceEnergy {
  double force_over_r = 0;  // kcal/mol/Å²
  double energy = 0;        // kcal/mol
};

/// Computes A/r¹² − B/r⁶ under the modifier; zero beyond the cut-off. With LjModifier::pme dispersion_without_mesh() of
/// the pair comes on top.
ForceEnergy lennard_jones(const PairSettings& settings, double a, double b, double r2);

/// Computes the real-space Coulomb interaction of C qᵢqⱼ = 1; zero beyond the cut-off.
ForceEnergy coulomb(const PairSettings& settings, double r2);

/// Computes the correction for an excluded pair, which the mesh includes: −erf(αr)/r for C qᵢqⱼ = 1. Finite at r = 0.
/// ewald_exclusion_energy() leaves out the force.
ForceEnergy ewald_exclusion(double alpha, double r2);

/// Computes what the direct sum of LjModifier::pme adds for C = 1 because the mesh has it too,
/// (1 − e^(−x²)(1 + x² + x⁴/2))/r⁶, x = alpha·r: to pairs that interact less its energy at the cut-off, to excluded
/// ones as it is. Finite at r = 0.
ForceEnergy dispersion_without_mesh(double alpha, double r2);

/// Holds the integral ∫ of 4πr²(U₀ − U)dr/2 for one pair of types per unit density: the energy that modifier and
/// cut-off remove in a uniform fluid, kcal/mol·Å³, and the same of −r dU/dr/3 for the pressure. The switching distance
/// must be greater than 0; otherwise the integral is infinite.
struct TailIntegral {
  double energy = 0, virial = 0;
};
TailIntegral lj_tail(const PairSettings& settings, double a, double b);

}  // namespace tessera::md::pair
