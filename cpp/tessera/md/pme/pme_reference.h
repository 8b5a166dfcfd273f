// Computes the reciprocal part of Ewald's sum by its definition, in double; tests compare the mesh with it.
//
//   E = C/(2πV) Σ_{m≠0} exp(−π²m²/α²)/m² |S(m)|²,  S(m) = Σ_i q_i exp(2πi m·r_i),  m = h a* + k b* + l c*
//
// Source: U. Essmann et al., J. Chem. Phys. 103, 8577 (1995), eqs. 2.5, 2.7, doi:10.1063/1.470117.
// Units: Å, e, kcal/mol. Cost: atoms × (2·limit + 1)³.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tessera/base/box.h"

namespace tessera::md::pme {

struct ReciprocalSum {
  double energy = 0;               // kcal/mol
  std::array<double, 6> virial{};  // Σ r⊗F, xx yy zz xy xz yz, kcal/mol
  std::vector<Vec3> force;         // (n) kcal/mol/Å
};

/// Sums over |h|, |k|, |l| ≤ limit.
ReciprocalSum direct_reciprocal_sum(const Box& box, std::span<const Fraction> position, std::span<const double> charge,
                                    double coulomb_constant, double alpha, int limit);

}  // namespace tessera::md::pme
