// Plans the grids of a multigrid solver: each has half the points of the finer one along the edges where points are
// nearest, and a discrete Laplacian. A plan is pure and the same on every rank.
#pragma once

#include <array>
#include <vector>

#include "tessera/grid/layout.h"
#include "tessera/grid/poisson/separable.h"

namespace tessera::grid {

struct Level {
  GridLayout layout;
  std::array<double, 3> steps{};
  SeparableLaplacian laplacian;
  std::array<bool, 3> is_halved{};  // towards the next level
  /// Relaxation: sweep k adds (L u − f) / |eigenvalue k| to u. These are the zeros of the Chebyshev polynomial over the
  /// eigenvalues of waves that the next level can't hold.
  std::vector<double> sweeps;

  /// Returns where point i of the next level is on this one, along an edge.
  std::int64_t finer(std::size_t d, std::int64_t i) const {
    return is_halved[d] ? 2 * i + (layout.is_periodic[d] ? 0 : 1) : i;
  }
};

/// Points of a rank below which a level is gathered on fewer ranks.
inline constexpr std::int64_t least_points_of_rank = 4096;
/// Points of a level that is solved directly in any case.
inline constexpr std::int64_t points_solved_directly = 512;

/// Returns the finest level as if it were the only one.
Level finest_level(const GridLayout& layout, const std::array<double, 3>& steps, int order);

/// Returns the levels from the finest on. An edge can be halved if it is periodic and even, or isolated and odd, so
/// that both faces stay. Points are left out along those edges whose steps are less than 1.45 times the shortest one,
/// all of them or none: where one of these can't be halved, the level is the last. Coarser Laplacians are of order 2
/// with the means over other directions that restricting and interpolating make (Galerkin); with plain ones the cycle
/// would converge half as fast.
std::vector<Level> plan_levels(const GridLayout& finest, const std::array<double, 3>& steps, int order, int sweeps = 4);

}  // namespace tessera::grid
