// The entry `subnets`: every piece of the data has a tree of its own along the subnets of the network
// (delivery_tree.h). Broadcast and all-gather send down such trees, reduce and reduce-scatter up, all-reduce up and
// down again with roots in turn; all-to-all sends directly, slowest links first.
#pragma once

#include <vector>

#include "tessera/comm/collectives/registry.h"

namespace tessera::comm::collectives {

bool can_subnets(const Problem& problem, const machine::Wires& wires);
Plan plan_subnets(const Problem& problem, const machine::Wires& wires, const Parameters& parameters);
std::vector<Parameters> candidates_subnets(const Problem& problem, const machine::Wires& wires);

}  // namespace tessera::comm::collectives
