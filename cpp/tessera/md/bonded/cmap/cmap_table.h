// Represents CMAP correction maps: a smooth periodic surface U(φ, ψ) through energies on a grid.
//
// Formula: U is bicubic on each grid square, from U, ∂U/∂φ, ∂U/∂ψ, ∂²U/∂φ∂ψ at its corners. The derivatives are those
//   of periodic cubic splines along grid lines, so U is the tensor product of periodic cubic splines (twice
//   continuously differentiable).
// Source: MacKerell, Feig, Brooks, J. Comput. Chem. 25, 1400 (2004), 10.1002/jcc.20065, appendix; splines as in de
//   Boor, A Practical Guide to Splines (1978), chapter IV.
// Units: radian, kcal/mol.
// Cost: four doubles per grid point (18 kB for 24 × 24, which stays in the first cache; 16 coefficients per square
//   would not); an evaluation is 16 multiply-adds for each of U and its two slopes.
#pragma once

#include <vector>

#include "tessera/md/bonded/cmap/cmap_surface.h"
#include "tessera/model/system.h"

namespace tessera::md::bonded {

class CmapTable {
 public:
  using Value = CmapSurface::Value;
  using Node = CmapSurface::Node;

  CmapSurface surface() const { return {nodes_.data(), n_, inverse_step_}; }
  /// Returns U and its slopes; angles are in rad, a few turns at most.
  Value evaluate(double phi, double psi) const { return surface().evaluate(phi, psi); }

  int size() const { return n_; }
  const std::vector<Node>& nodes() const { return nodes_; }

  friend CmapTable make_cmap_table(const model::CmapParameter&);

 private:
  int n_ = 0;
  double inverse_step_ = 0;  // rad⁻¹
  std::vector<Node> nodes_;  // (n,n) [i_φ·n + i_ψ]
};

/// Throws InputError unless the grid has n² finite energies, n ≥ 3.
CmapTable make_cmap_table(const model::CmapParameter&);

}  // namespace tessera::md::bonded
