// The discrete Laplacians of Poisson solvers, which are sums of products of formulas along single directions, so that
// sines and plane waves are their eigenvectors.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/grid/stencil.h"

namespace tessera::grid {

/// ∇² ≈ Σ_d second[d] ⊗ mean of the other two directions. Formulas are symmetric: [k] is the coefficient of both
/// neighbours k points away.
struct SeparableLaplacian {
  std::array<std::vector<double>, 3> second;  // per unit of length², sums to 0
  std::array<std::vector<double>, 3> mean;    // sums to 1

  Stencil stencil() const;
  /// Returns the eigenvalue, ≤ 0, of a product of waves that have these values of `symbol` along each direction.
  static double eigenvalue(const std::array<double, 3>& second, const std::array<double, 3>& mean) {
    return second[0] * mean[1] * mean[2] + mean[0] * second[1] * mean[2] + mean[0] * mean[1] * second[2];
  }
};

/// Returns ∇² of an even order with points these distances apart along x, y, z: the points on the axes alone.
SeparableLaplacian plain_laplacian(int order, const std::array<double, 3>& steps);

/// Returns the factor by which a formula multiplies the wave cos(2π r·turn/turns). Exact to a few ulp, also for long
/// waves.
double symbol(const std::vector<double>& formula, double sum, std::int64_t turn, std::int64_t turns);

/// Returns the factors of all waves of a direction of n points: k = 0 … n−1 for cos and sin of 2πkr/n in the order cos
/// 0, cos 1, sin 1, cos 2, … where it is periodic, else sin(π(k+1)(r+1)/(n+1)).
std::vector<double> symbols(const std::vector<double>& formula, double sum, std::int64_t n, bool is_periodic);

}  // namespace tessera::grid
