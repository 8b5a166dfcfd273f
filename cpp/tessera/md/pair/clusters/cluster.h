// Declares four atoms in the form that pair kernels read.
#pragma once

#include "tessera/md/domain/domain.h"

namespace tessera::md::pair {

inline constexpr int cluster_size = domain::cluster_size;

/// Holds coordinates and parameters of a cluster as kernels read them; coordinates are in Å relative to the cell's
/// centre.
struct alignas(32) ClusterData {
  float x[4], y[4], z[4];
  float q[4];        // charge × √(C·scale)
  float sigma[4];    // σ'/2 or √σ', where σ' = 2^(1/6) σ is the distance of the minimum
  float epsilon[4];  // √(12ε·scale)
  // With Lookup::all, pair (i, j) has the pieces that begin at epsilon[i] + sigma[j] in the LookupTable.
};

/// Holds positions of a cluster's atoms, Å relative to the cell's centre.
struct ClusterPlaces {
  float x[4], y[4], z[4];
};

/// Padding atoms are far away, each lane at another place, so that they are never within a cut-off of anything.
inline constexpr float padding_distance = 1.0e6f;

}  // namespace tessera::md::pair
