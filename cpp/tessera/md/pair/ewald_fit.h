// Polynomials in r² for the smooth part of Ewald's real-space sum.
#pragma once

#include <vector>

namespace tessera::md::pair {

/// Coefficients of powers of t = 2r²/r_c² − 1 on [0, r_c], and the greatest error relative to 1/r³ (force) or 1/r
/// (energy) at the same distance beyond 1 Å.
struct Polynomial {
  std::vector<double> coefficient;
  double error = 0;
};

/// erf(αr)/r³ − 2α/√π·exp(−α²r²)/r².
Polynomial fit_ewald_force(double alpha, double cutoff, int degree);
/// erf(αr)/r.
Polynomial fit_ewald_energy(double alpha, double cutoff, int degree);

}  // namespace tessera::md::pair
