// The discrete Laplacians of Poisson solvers, which are sums of products of formulas along single directions, so that
// sines and plane waves are their eigenvectors.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/grid/stencil.h"

namespace tessera::grid {

/// ∇² − shift ≈ Σ_d second[d] ⊗ mean of the other two directions − shift · mean ⊗ mean ⊗ mean. Formulas are symmetric: [k] is the coefficient of both
/// neighbours k points away.
struct SeparableLaplacian {
  std::array<std::vector<double>, 3> second;  // per unit of length², sums to 0
  std::array<std::vector<double>, 3> mean;    // sums to 1
  double shift = 0;                           // per unit of length², ≥ 0

  Stencil stencil() const;
  /// Returns the eigenvalue, ≤ 0, of a product of waves that have the values s and m of `symbol` of second and mean along each direction.
  double eigenvalue(const std::array<double, 3>& s, const std::array<double, 3>& m) const {
    return (s[0] - shift * m[0]) * m[1] * m[2] + m[0] * s[1] * m[2] + m[0] * m[1] * s[2];
  }
};

/// Returns ∇² of an even order with points these distances apart along x, y, z: the points on the axes alone.
SeparableLaplacian plain_laplacian(int order, const std::array<double, 3>& steps);

/// What a formula makes of the wave cos(2π r·turn/turns): a factor. Exact to a few ulp, also for long waves.
double symbol(const std::vector<double>& formula, double sum, std::int64_t turn, std::int64_t turns);

/// The factors of all waves of a direction of n points: k = 0 … n−1 for cos and sin of 2πkr/n in the order cos 0, cos
/// 1, sin 1, cos 2, … where it is periodic, else sin(π(k+1)(r+1)/(n+1)).
std::vector<double> symbols(const std::vector<double>& formula, double sum, std::int64_t n, bool is_periodic);

}  // namespace tessera::grid
