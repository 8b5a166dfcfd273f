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

#include <array>
#include <vector>

#include "tessera/model/system.h"

namespace tessera::md::bonded {

class CmapTable {
 public:
  struct Value {
    double energy;                // kcal/mol
    double slope_phi, slope_psi;  // kcal/mol/rad
  };

  /// Returns U and its slopes; angles are in rad, a few turns at most.
  Value evaluate(double phi, double psi) const;

  int size() const { return n_; }

  friend CmapTable make_cmap_table(const model::CmapParameter&);

 private:
  /// Holds a grid point's U, h·∂U/∂φ, h·∂U/∂ψ, h²·∂²U/∂φ∂ψ with h the grid step, all in kcal/mol.
  using Node = std::array<double, 4>;

  int n_ = 0;
  double inverse_step_ = 0;  // rad⁻¹
  std::vector<Node> nodes_;  // (n,n) [i_φ·n + i_ψ]
};

/// Throws InputError unless the grid has n² finite energies, n ≥ 3.
CmapTable make_cmap_table(const model::CmapParameter&);

}  // namespace tessera::md::bonded
