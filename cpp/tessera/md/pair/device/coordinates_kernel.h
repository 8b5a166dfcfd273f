// Declares what the kernel reads and writes that makes coordinates of clusters. All pointers are to the device's memory.
#pragma once

#include <cstdint>

#include "tessera/base/box.h"
#include "tessera/md/device/check_kernel.h"
#include "tessera/md/pair/clusters/cluster.h"

namespace tessera::md::pair {

struct CoordinateArguments {
  SingleTriangular to_length;
  std::int32_t n_slots;
  const Fraction* position;     // by slot
  const std::int32_t* type;     // by slot; negative: padding, which stays where it is
  const float* reach;           // by slot, Å: how far it may move from where it was listed
  const Fraction* centre;       // of each cluster's cell
  const ClusterPlaces* listed;  // by cluster: where it was listed
  ClusterData* clusters;
  AtomCheck* check;
};

}  // namespace tessera::md::pair
