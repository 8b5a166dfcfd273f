// Chebyshev interpolation of the two functions, which are entire in r², turned into powers of t for a Horner scheme.
#include "tessera/md/pair/ewald_fit.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/units.h"
#include "tessera/md/pair/functions.h"

namespace tessera::md::pair {

namespace {

template <class Function>
Polynomial fit(Function&& function, double cutoff, int degree, int power) {
  const auto n = static_cast<std::size_t>(degree) + 1;
  std::vector<double> chebyshev(n, 0);
  std::vector<double> node(n), value(n);
  for (std::size_t k = 0; k < n; ++k) {
    node[k] = std::cos(units::pi * (static_cast<double>(k) + 0.5) / static_cast<double>(n));
    value[k] = function(0.5 * (node[k] + 1) * cutoff * cutoff);
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n; ++k)
      chebyshev[j] += value[k] * std::cos(units::pi * static_cast<double>(j) * (static_cast<double>(k) + 0.5) /
                                          static_cast<double>(n));
    chebyshev[j] *= (j == 0 ? 1.0 : 2.0) / static_cast<double>(n);
  }
  // T₀ = 1, T₁ = t, Tⱼ₊₁ = 2tTⱼ − Tⱼ₋₁
  Polynomial polynomial;
  polynomial.coefficient.assign(n, 0);
  std::vector<double> previous(n, 0), current(n, 0);
  previous[0] = 1;
  if (n > 1) current[1] = 1;
  for (std::size_t j = 0; j < n; ++j) {
    const auto& t = j == 0 ? previous : current;
    for (std::size_t i = 0; i < n; ++i) polynomial.coefficient[i] += chebyshev[j] * t[i];
    if (j == 0) continue;
    std::vector<double> next(n, 0);
    for (std::size_t i = 0; i + 1 < n; ++i) next[i + 1] = 2 * current[i];
    for (std::size_t i = 0; i < n; ++i) next[i] -= previous[i];
    previous = current;
    current = next;
  }
  for (int i = 0; i <= 4000; ++i) {
    const double r = 1 + (cutoff - 1) * i / 4000.0, t = 2 * r * r / (cutoff * cutoff) - 1;
    double sum = 0;
    for (std::size_t j = n; j-- > 0;) sum = sum * t + polynomial.coefficient[j];
    polynomial.error = std::max(polynomial.error, std::abs(sum - function(r * r)) * std::pow(r, power));
  }
  return polynomial;
}

}  // namespace

Polynomial fit_ewald_force(double alpha, double cutoff, int degree) {
  return fit([&](double r2) { return -ewald_exclusion(alpha, r2).force_over_r; }, cutoff, degree, 3);
}

Polynomial fit_ewald_energy(double alpha, double cutoff, int degree) {
  return fit([&](double r2) { return -ewald_exclusion(alpha, r2).energy; }, cutoff, degree, 1);
}

}  // namespace tessera::md::pair
