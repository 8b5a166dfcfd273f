#include "tessera/md/pair/clusters/cluster_atoms.h"

#include <bit>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/pair/clusters/cluster_atoms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/pair/clusters/cluster_atoms-inl.h"

#if HWY_ONCE

namespace tessera::md::pair {

HWY_EXPORT(SetCoordinates);
HWY_EXPORT(AddToAtoms);

bool set_coordinates(const SingleTriangular& to_length, const AtomsOfClusters& atoms, ClusterData* clusters,
                     float* stride) {
  return HWY_DYNAMIC_DISPATCH(SetCoordinates)(to_length, atoms, clusters, stride);
}

void add_to_atoms(std::span<const std::vector<ClusterForces>> buffers, std::int64_t begin, std::int64_t end,
                  std::int64_t* force) {
  HWY_DYNAMIC_DISPATCH(AddToAtoms)(buffers.data(), buffers.size(), begin, end, force);
}

}  // namespace tessera::md::pair

#endif
