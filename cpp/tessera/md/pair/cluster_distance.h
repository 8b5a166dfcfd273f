// The inner loop of the pair search: which of a run of clusters come near one.
#pragma once

#include <cstdint>

#include "tessera/md/pair/pair_list.h"

namespace tessera::md::pair {

/// Axis-aligned box around a cluster's atoms, Å relative to the cell's centre.
struct Bounds {
  float lower[4], upper[4];  // x y z and an unused lane
};

/// Writes to `near` the clusters j in [begin, end) that have an atom within √range2 of one of the i-cluster's atoms,
/// the i-cluster shifted by −shift; returns how many. Bounding boxes first, then all 16 distances.
std::int32_t find_near_clusters(const ClusterData& i, const Bounds& i_bounds, const float* shift,
                                const ClusterData* clusters, const Bounds* bounds, std::int32_t begin, std::int32_t end,
                                float range2, std::int32_t* near);

/// The name of the instruction set that kernels use on this machine.
const char* simd_target();

}  // namespace tessera::md::pair
