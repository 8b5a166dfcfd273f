// Tabulates the functions of functions.h in 1/r² with linear interpolation: dense for close atoms, sparse near the
// cut-off (J. Jung, T. Mori, Y. Sugita, J. Comput. Chem. 34, 2412 (2013), doi:10.1002/jcc.23404). All modifiers and
// electrostatics cost the same.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/md/pair/functions.h"

namespace tessera::pair_schemes {

using md::pair::PairSettings, md::pair::ForceEnergy, md::pair::LjModifier, md::pair::Electrostatics;

/// The table does not cover closer pairs of atoms, Å; they are computed in double precision.
inline constexpr double shortest_in_table = 1.0;

/// Point L is at r = r_c·√(density/L). Each point has the value and the step to the next point of three functions: F/r
/// of R = 12A/r¹² (so that F/r = R/r² without a modifier), of P = 6B/r⁶, and of Coulomb with C qᵢqⱼ = 1.
struct PairTable {
  static constexpr std::size_t stride = 8;  // the six numbers of a point, in one part of a cache line
  enum Function : std::size_t { repulsion = 0, dispersion = 2, coulomb = 4 };

  float scale = 0;            // density·r_c², Å²: L = scale/r²
  std::int32_t n_points = 0;  // L = 0 … n_points − 1; those below the density are beyond the cut-off
  std::vector<float> force;   // (points, stride)
};

/// Makes a table with `density` points between 1/r² = 0 and 1/r_c², r_c being the Lennard-Jones cut-off. Errors are
/// proportional to 1/density².
PairTable make_pair_table(const PairSettings& settings, double density);

}  // namespace tessera::pair_schemes
