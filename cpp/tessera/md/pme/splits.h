// Where Ewald's sum may be split between pairs and mesh at the same accuracy: a pure plan.
#pragma once

#include <array>
#include <vector>

#include "tessera/base/index_box.h"

namespace tessera::md::pme {

/// Where the direct sum ends, and the mesh that does the rest.
struct Split {
  double cutoff = 0;  // Å
  Index3 grid{};
};

/// Splits as accurate as the first in a box of these edges (Å), the mesh coarser from one to the next, up to a cut-off
/// of `greatest` Å: α goes with 1/cut-off, so that erfc(α·cutoff) stays, and the mesh's greatest spacing with the
/// cut-off, so that α·spacing stays, on which a spline's error depends. So does GROMACS' tuning: M. J. Abraham et al.,
/// SoftwareX 1–2, 19 (2015), doi:10.1016/j.softx.2015.06.001.
std::vector<Split> coarser_splits(const Split& first, const std::array<double, 3>& edges, double greatest);

}  // namespace tessera::md::pme
