// Interpolates the two functions, which are entire in r², at Chebyshev points and converts the result to powers for a
// Horner scheme.
#include "tessera/md/pair/ewald_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tessera/base/math/elementary.h"
#include "tessera/base/units.h"
#include "tessera/md/pair/functions.h"

namespace tessera::md::pair {

namespace {

/// Returns the coefficients of powers of t, which runs from −1 to 1 over [low, high] of r².
template <class Function>
std::vector<double> interpolate(Function&& function, double low, double high, int degree) {
  const auto n = static_cast<std::size_t>(degree) + 1;
  std::vector<double> chebyshev(n, 0);
  std::vector<double> node(n), value(n);
  // Of half a turn times j(k + 1/2)/n.
  const auto cosine = [&](std::size_t j, std::size_t k) {
    return math::sincos_of_turn(static_cast<std::int64_t>(j * (2 * k + 1)), static_cast<std::int64_t>(4 * n)).cos;
  };
  for (std::size_t k = 0; k < n; ++k) {
    node[k] = cosine(1, k);
    value[k] = function(low + 0.5 * (node[k] + 1) * (high - low));
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n; ++k) chebyshev[j] += value[k] * cosine(j, k);
    chebyshev[j] *= (j == 0 ? 1.0 : 2.0) / static_cast<double>(n);
  }
  // The recurrence is T₀ = 1, T₁ = t, Tⱼ₊₁ = 2tTⱼ − Tⱼ₋₁.
  std::vector<double> coefficient(n, 0);
  std::vector<double> previous(n, 0), current(n, 0);
  previous[0] = 1;
  if (n > 1) current[1] = 1;
  for (std::size_t j = 0; j < n; ++j) {
    const auto& t = j == 0 ? previous : current;
    for (std::size_t i = 0; i < n; ++i) coefficient[i] += chebyshev[j] * t[i];
    if (j == 0) continue;
    std::vector<double> next(n, 0);
    for (std::size_t i = 0; i + 1 < n; ++i) next[i + 1] = 2 * current[i];
    for (std::size_t i = 0; i < n; ++i) next[i] -= previous[i];
    previous = current;
    current = next;
  }
  return coefficient;
}

/// Returns the greatest difference of two functions of r² between 1 Å and the cut-off, times r to a power.
template <class Function, class Fit>
double greatest_error(Function&& function, Fit&& fit, double cutoff, int power = 1) {
  double error = 0;
  for (int i = 0; i <= 4000; ++i) {
    const double r = 1 + (cutoff - 1) * i / 4000.0;
    error = std::max(error, std::abs(fit(r * r) - function(r * r)) * math::pow(r, power));
  }
  return error;
}

template <class Function>
Polynomial fit(Function&& function, double cutoff, int degree, int power = 1) {
  Polynomial polynomial;
  polynomial.coefficient = interpolate(function, 0, cutoff * cutoff, degree);
  const auto value = [&](double r2) {
    double sum = 0;
    for (std::size_t j = polynomial.coefficient.size(); j-- > 0;)
      sum = sum * (2 * r2 / (cutoff * cutoff) - 1) + polynomial.coefficient[j];
    return sum;
  };
  polynomial.error = greatest_error(function, value, cutoff, power);
  return polynomial;
}

/// Returns the coefficients of powers of u, of a polynomial in t = offset + slope·u.
std::vector<double> substitute(const std::vector<double>& of_t, double offset, double slope) {
  std::vector<double> of_u(of_t.size(), 0);
  for (std::size_t j = of_t.size(); j-- > 0;) {
    for (std::size_t c = of_u.size(); c-- > 0;) of_u[c] = offset * of_u[c] + (c > 0 ? slope * of_u[c - 1] : of_t[j]);
  }
  return of_u;
}

double ewald_force_times_r(double alpha, double r2) { return -ewald_exclusion(alpha, r2).force_over_r * r2; }

}  // namespace

Polynomial fit_ewald_force(double alpha, double cutoff, int degree) {
  return fit([&](double r2) { return ewald_force_times_r(alpha, r2); }, cutoff, degree);
}

PiecewisePolynomial fit_ewald_force_piecewise(double alpha, double cutoff) {
  const auto function = [&](double r2) { return ewald_force_times_r(alpha, r2); };
  PiecewisePolynomial pieces;
  // The scale is slightly too small, so that rounding never leads beyond the last piece.
  pieces.scale = (PiecewisePolynomial::n_pieces - 0.501) / (cutoff * cutoff);
  for (std::size_t n = 0; n < PiecewisePolynomial::n_pieces; ++n) {
    const double centre = static_cast<double>(n), low = std::max(centre - 0.5, 0.0), high = centre + 0.5;
    const auto of_t = interpolate(function, low / pieces.scale, high / pieces.scale, PiecewisePolynomial::degree);
    const auto of_u = substitute(of_t, (2 * centre - low - high) / (high - low), 2 / (high - low));
    for (std::size_t c = 0; c < of_u.size(); ++c) pieces.coefficient[c][n] = of_u[c];
  }
  const auto value = [&](double r2) {
    const double x = r2 * pieces.scale, n = std::nearbyint(x);
    double sum = 0;
    for (std::size_t c = pieces.coefficient.size(); c-- > 0;)
      sum = sum * (x - n) + pieces.coefficient[c][static_cast<std::size_t>(n)];
    return sum;
  };
  pieces.error = greatest_error(function, value, cutoff);
  return pieces;
}

Polynomial fit_dispersion_force(double alpha, double cutoff, int degree) {
  const auto function = [&](double r2) { return dispersion_without_mesh(alpha, r2).force_over_r * r2 / 6; };
  return fit(function, cutoff, degree, 6);
}

Polynomial fit_dispersion_energy(double alpha, double cutoff, int degree) {
  const double at_cutoff = dispersion_without_mesh(alpha, cutoff * cutoff).energy;
  const auto function = [&](double r2) { return (dispersion_without_mesh(alpha, r2).energy - at_cutoff) / 6; };
  return fit(function, cutoff, degree, 6);
}

Polynomial fit_ewald_energy(double alpha, double cutoff, int degree) {
  return fit([&](double r2) { return -ewald_exclusion_energy(alpha, r2); }, cutoff, degree);
}

}  // namespace tessera::md::pair
