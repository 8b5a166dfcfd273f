// Stencils: sums of a point's neighbours, each times a coefficient, and the makers of common ones.
#pragma once

#include <array>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/base/vec3.h"

namespace tessera::grid {

/// out(r) = Σ coefficients[k] · in(r + offsets[k]), summed in this order.
struct Stencil {
  std::vector<Index3> offsets;
  std::vector<double> coefficients;

  /// Returns how many points the offsets reach below and above along each edge, ≥ 0.
  std::array<Index3, 2> reach() const;
  /// Tells whether no offset leaves its axis, so that a box needs its faces only and no edges and corners.
  bool is_on_axes() const;
};

/// The greatest order of the makers.
inline constexpr int most_order = 12;

/// Returns the coefficients of the central difference formula of an even order for the first or the second derivative
/// on points of distance 1: those of −order/2 … order/2. Source: B. Fornberg, Math. Comp. 51, 699 (1988),
/// doi:10.1090/S0025-5718-1988-0935077-0. Throws InputError for an order that is odd or not within 2 … 12.
std::vector<double> central_differences(int derivative, int order);

/// Returns ∇² of an even order on a grid whose steps along its three directions are these vectors (any length unit; the
/// result is per unit²). Steps at right angles make 3·order + 1 points; others add products of first derivatives.
/// Throws InputError as central_differences does, and where the steps lie in a plane.
Stencil laplacian(int order, const std::array<Vec3, 3>& steps);

/// Returns ∂/∂x, ∂/∂y or ∂/∂z (`axis` 0, 1, 2, Cartesian) of an even order on such a grid.
Stencil gradient(int order, int axis, const std::array<Vec3, 3>& steps);

}  // namespace tessera::grid
