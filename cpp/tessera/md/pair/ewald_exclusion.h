// The energy of excluded pairs of Ewald's sum, which devices compute, too.
#pragma once

#include <cmath>

#include "tessera/base/math/error_function.h"
#include "tessera/base/units.h"

namespace tessera::md::pair {

/// Returns −erf(αr)/r, what the mesh has in excess for an excluded pair of charges of 1, per Coulomb constant, 1/Å.
/// Source: Essmann et al., J. Chem. Phys. 103, 8577 (1995), doi:10.1063/1.470117, eq. 2.5.
constexpr double ewald_exclusion_energy(double alpha, double r2) {
  const double z = alpha * alpha * r2;
  // Near 0: erf(x)/x = 2/√π Σ (−z)ⁿ/(n!(2n+1)), as the closed form loses digits for small x.
  if (z < 1e-3) return -2 * alpha / std::sqrt(units::pi) * (1 - z * (1.0 / 3 - z * (1.0 / 10 - z * (1.0 / 42))));
  const double r = std::sqrt(r2);
  return -math::erf_of_positive(alpha * r) / r;
}

}  // namespace tessera::md::pair
