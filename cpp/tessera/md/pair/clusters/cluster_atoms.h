// Converts positions of atoms to coordinates of clusters, and forces on clusters to forces on atoms.
//
// Cost: about 75 instructions a cluster for coordinates and 50 for forces, with AVX2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/md/pair/clusters/cluster.h"
#include "tessera/md/pair/clusters/cluster_kernel.h"

namespace tessera::md::pair {

/// Refers to the atoms of the clusters of one cell, by slot or by cluster from the cell's first.
struct AtomsOfClusters {
  std::int64_t n_clusters;
  Fraction centre;              // of the cell
  const Fraction* position;     // by slot
  const std::int64_t* id;       // by slot; negative: padding
  const float* reach;           // by slot, Å: how far it may move from where it was listed
  const ClusterPlaces* listed;  // by cluster: where it was listed
};

/// Sets the coordinates of a cell's clusters. If `stride` is not null, it gets how far atoms have moved from the
/// coordinates before, by slot, Å. Tells whether an atom has moved beyond its reach.
bool set_coordinates(const SingleTriangular& to_length, const AtomsOfClusters& atoms, ClusterData* clusters,
                     float* stride);

/// Adds forces on clusters [begin, end), summed over buffers of threads, to forces on atoms, (4·clusters,3) in units of
/// force_unit.
void add_to_atoms(std::span<const std::vector<ClusterForces>> buffers, std::int64_t begin, std::int64_t end,
                  std::int64_t* force);

}  // namespace tessera::md::pair
