// Fits polynomials in r² to the smooth part of Ewald's real-space sum.
#pragma once

#include <array>
#include <vector>

namespace tessera::md::pair {

/// Holds the coefficients of powers of t = 2r²/r_c² − 1 on [0, r_c], and the greatest error relative to 1/r at the same
/// distance, beyond 1 Å.
struct Polynomial {
  std::vector<double> coefficient;
  double error = 0;
};

/// Fits F·r: erf(αr)/r − 2α/√π·exp(−α²r²).
Polynomial fit_ewald_force(double alpha, double cutoff, int degree);

/// Holds the same function in pieces: with x = r²·scale, its nearest integer n and u = x − n, the coefficient of uᶜ is
/// coefficient[c][n]. There are as many pieces as a register of AVX2 has lanes.
struct PiecewisePolynomial {
  static constexpr int n_pieces = 8, degree = 5;
  double scale = 0;  // Å⁻²
  std::array<std::array<double, n_pieces>, degree + 1> coefficient{};
  double error = 0;  // as for Polynomial
};
PiecewisePolynomial fit_ewald_force_piecewise(double alpha, double cutoff);

/// Fits F·r and the energy of dispersion_without_mesh() for 6C = 1, the energy less its value at the cut-off; their
/// errors are relative to r⁻⁶.
Polynomial fit_dispersion_force(double alpha, double cutoff, int degree);
Polynomial fit_dispersion_energy(double alpha, double cutoff, int degree);

/// Fits erf(αr)/r.
Polynomial fit_ewald_energy(double alpha, double cutoff, int degree);

}  // namespace tessera::md::pair
