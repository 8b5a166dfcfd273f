// Excluded pairs under Ewald: the grid sum includes them, so what it gave them is taken back.
//
// Formula: U = −C·qᵢqⱼ·erf(αr)/r
// Source: Essmann et al., J. Chem. Phys. 103, 8577 (1995), 10.1063/1.470117, eq. 2.5
// Units: Å, kcal/mol, elementary charge; α Å⁻¹
// Cost: one error function and one exponential a pair
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/lattice.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/bonded/bonded.h"
#include "tessera/md/bonded/terms.h"

namespace tessera::md::bonded {

/// What of a correction is added: all of it, or what a pair kernel that adds the forces itself leaves over.
enum class ExclusionPart { energy, energy_and_virial, all };

struct EwaldPair {
  double energy;        // −C qᵢqⱼ erf(αr)/r, kcal/mol
  double force_over_r;  // F_i/r along rᵢ − rⱼ, kcal/mol/Å²
};

/// The correction of one pair at distance √r2, `charge_product` = C·qᵢqⱼ; finite at r = 0.
EwaldPair ewald_exclusion(double r2, double charge_product, double alpha);

/// Adds the corrections of rows [begin, end) (their `parameter` is not used). Energy and virial only where
/// `Accumulator::energies` is given.
void add_exclusion_energies(const Lattice&, Positions, std::span<const double> charge, const TermList<2>& excluded,
                            std::int64_t begin, std::int64_t end, double coulomb_constant, double alpha, ExclusionPart,
                            Accumulator&);

}  // namespace tessera::md::bonded
