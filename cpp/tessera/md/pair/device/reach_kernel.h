// Declares what the kernel reads and writes that says how far atoms may go before the next list. All pointers are to the
// device's memory.
#pragma once

#include <cstdint>

#include "tessera/md/pair/clusters/cluster.h"
#include "tessera/md/pair/list_settings.h"
#include "tessera/md/state.h"

namespace tessera::md::pair {

struct ReachArguments {
  ListSettings list;
  float typical;  // the root mean square of all atoms' steps, Å
  std::int32_t n_slots;
  const Velocity* velocity;  // by slot
  const float* mobility;     // by slot
  const ClusterData* clusters;
  float* reach;           // by slot, Å
  ClusterPlaces* listed;  // by cluster: where its atoms are now
};

}  // namespace tessera::md::pair
