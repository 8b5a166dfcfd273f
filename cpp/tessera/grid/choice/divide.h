// Divides the ranks of a calculation of electronic structure over k-points, bands and domains: each group of ranks has
// some of the k-points (with spins), in it each group some of the bands, and these ranks divide space. Ranks of a
// domain follow each other, then come the bands, then the k-points, as in GPAW.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/grid/choice/choose.h"

namespace tessera::grid {

struct DivisionProblem {
  Index3 shape{};
  std::array<bool, 3> is_periodic{true, true, true};
  HaloShape halo;
  std::int64_t bytes = 8;    // of a point
  std::int64_t kpoints = 1;  // times spins
  std::int64_t bands = 1;
};

/// How an iteration is estimated besides stencils.
struct IterationRates {
  double flops = 1e10;  // of a core's matrix products; complex numbers count as four real ones
  int stencils = 3;     // how often an iteration applies the stencil to a band
};

/// Seconds of an iteration.
struct Division {
  std::int64_t kpoints = 1, bands = 1;  // groups
  Index3 domain{1, 1, 1};
  Choice choice;  // of a stencil on a group's bands
  double stencils = 0, orthogonalisation = 0;

  double seconds() const { return stencils + orthogonalisation; }
};

/// Returns all divisions of the ranks, the quickest first. Each rank's box is at least as long as the halo reaches, and
/// the groups of bands are equal, as GPAW needs. An iteration applies the stencil, flat-optimized, to the bands of all
/// k-points of a group, and makes the bands orthogonal. That is: two products of all pairs of bands, over all points,
/// 4 · bands² · points operations, shared by the ranks of a k-point; in it the bands of a group visit all other groups
/// (twice), on links that are alone; then a sum of bands² numbers over the domain, each at twice the bytes and 2·log₂
/// latencies. Hosts are filled in turn. Throws InputError if no division is possible.
std::vector<Division> rank_divisions(const DivisionProblem& problem, const machine::Network& network, int ranks,
                                     const CoreRates& rates, const IterationRates& iteration);

}  // namespace tessera::grid
