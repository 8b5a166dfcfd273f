// Four atoms as pair kernels read them.
#pragma once

#include "tessera/md/domain/domain.h"

namespace tessera::md::pair {

inline constexpr int cluster_size = domain::cluster_size;

/// Coordinates and parameters of a cluster as kernels read them; coordinates in Å relative to the cell's centre.
struct alignas(32) ClusterData {
  float x[4], y[4], z[4];
  float q[4];        // charge × √(C·scale)
  float sigma[4];    // of σ' = 2^(1/6) σ, where the well is deepest: σ'/2 or √σ'
  float epsilon[4];  // √(12ε·scale)
};

/// Padding lies far away, each lane elsewhere, so that it never comes within a cut-off of anything.
inline constexpr float padding_distance = 1.0e6f;

}  // namespace tessera::md::pair
