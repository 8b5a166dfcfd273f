// Plans how Ewald's sum may be split between pairs and mesh at the same accuracy.
#pragma once

#include <array>
#include <vector>

#include "tessera/base/index_box.h"

namespace tessera::md::pme {

/// Holds a cut-off of the direct sum, with the mesh that computes the rest.
struct Split {
  double cutoff = 0;  // Å
  Index3 grid{};
};

/// Returns splits as accurate as the first in a box of these edges (Å), each with a coarser mesh than the one before,
/// up to a cut-off of `greatest` Å. α is proportional to 1/cut-off, which keeps erfc(α·cutoff), and the mesh's greatest
/// spacing is proportional to the cut-off, which keeps α·spacing and with it the spline's error. GROMACS tunes in the
/// same way: M. J. Abraham et al., SoftwareX 1–2, 19 (2015), doi:10.1016/j.softx.2015.06.001.
std::vector<Split> coarser_splits(const Split& first, const std::array<double, 3>& edges, double greatest);

}  // namespace tessera::md::pme
