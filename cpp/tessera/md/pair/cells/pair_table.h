// The functions of functions.h as a table in 1/r² with linear interpolation: dense where atoms are close, sparse near
// the cut-off (J. Jung, T. Mori, Y. Sugita, J. Comput. Chem. 34, 2412 (2013), doi:10.1002/jcc.23404). Any modifier and
// any electrostatics cost the same.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/md/pair/functions.h"

namespace tessera::md::pair::cells {

/// Closer pairs of atoms are not in the table, Å: they are computed in double precision.
inline constexpr double shortest_in_table = 1.0;

/// Point L stands for r = r_c·√(density/L). Of each point, value and step to the next point of three functions: F/r (or
/// U) of R = 12A/r¹² (so that F/r = R/r² without a modifier), of P = 6B/r⁶, and of Coulomb with C qᵢqⱼ = 1.
struct PairTable {
  static constexpr std::size_t stride = 8;  // six numbers a point, in one piece of a cache line
  enum Function : std::size_t { repulsion = 0, dispersion = 2, coulomb = 4 };

  float scale = 0;                   // density·r_c², Å²: L = scale/r²
  std::int32_t n_points = 0;         // L = 0 … n_points − 1; those below the density are beyond the cut-off
  std::vector<float> force, energy;  // (points, stride)
};

/// `density`: points between 1/r² = 0 and 1/r_c², of Lennard-Jones' cut-off. Errors go with 1/density².
PairTable make_pair_table(const PairSettings& settings, double density);

}  // namespace tessera::md::pair::cells
