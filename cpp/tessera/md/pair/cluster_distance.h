// The inner loop of the pair list: which clusters of the cells around come near one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/md/pair/cluster.h"

namespace tessera::md::pair {

/// Half of the 5 × 5 × 5 cells around one, the cell itself first.
inline constexpr int n_neighbour_cells = 63;

/// Axis-aligned boxes around clusters' atoms, Å relative to the cell's centre: one array a face, padded so that whole
/// registers may be read past the last cluster; and the greatest reach of a cluster's atoms.
struct ClusterBounds {
  std::array<std::vector<float>, 3> lower, upper;
  std::vector<float> reach;

  void resize(std::size_t clusters) {
    for (auto* faces : {&lower, &upper})
      for (auto& face : *faces) face.resize(clusters + 16);
    reach.resize(clusters + 16);
  }
};

/// The cells that a cell's clusters are paired with: their clusters, the vectors to them and boxes around what they
/// hold (Å relative to the first cell's centre). Cells that are not in the list have no clusters.
struct alignas(64) NeighbourCells {
  static constexpr std::size_t room = 64;  // whole registers
  std::array<std::int32_t, room> begin{}, end{};
  std::array<std::array<float, room>, 3> shift{}, lower{}, upper{};
  std::array<float, room> reach{};
};

/// Whom find_near_clusters() looks at. `reach` (4·clusters): how far each atom may still move.
struct ClusterSet {
  const ClusterData* clusters;
  const float* reach;
  const ClusterBounds& bounds;
};

/// Clusters near one, by cell and in order.
struct NearClusters {
  std::vector<std::int32_t> cluster;                       // with room for what is looked at and a register more
  std::vector<std::uint8_t> cell;                          // which of the neighbour cells it is in
  std::array<std::int32_t, NeighbourCells::room> count{};  // of each cell
  std::int32_t n = 0;
};

/// Finds the clusters of neighbour cells that have an atom j closer than cutoff + reach_i + reach_j to an atom i of
/// cluster `i`. Bounding boxes of cells first, then those of clusters, then all 16 distances where boxes do not tell.
/// `near` must have room for 16 more than all clusters of the cells.
void find_near_clusters(std::int32_t i, const NeighbourCells& cells, const ClusterSet& set, float cutoff,
                        NearClusters& near);

/// The name of the instruction set that kernels use on this machine.
const char* simd_target();

}  // namespace tessera::md::pair
