// The inner loop of the pair search: which of a run of clusters come near one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/md/pair/pair_list.h"

namespace tessera::md::pair {

/// Axis-aligned boxes around clusters' atoms, Å relative to the cell's centre: one array a face, padded so that whole
/// registers may be read past the last cluster.
struct ClusterBounds {
  std::array<std::vector<float>, 3> lower, upper;

  void resize(std::size_t clusters) {
    for (auto* faces : {&lower, &upper})
      for (auto& face : *faces) face.resize(clusters + 16);
  }
};

/// Writes to `near` the clusters j in [begin, end) that have an atom within √range2 of one of the atoms of cluster i,
/// which is shifted by −shift; returns how many. Bounding boxes first, then all 16 distances.
std::int32_t find_near_clusters(std::int32_t i, const float* shift, const ClusterData* clusters,
                                const ClusterBounds& bounds, std::int32_t begin, std::int32_t end, float range2,
                                std::int32_t* near);

/// The name of the instruction set that kernels use on this machine.
const char* simd_target();

}  // namespace tessera::md::pair
