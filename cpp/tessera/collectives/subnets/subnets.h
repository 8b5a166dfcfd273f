// In the entry `subnets` every piece of the data has a tree of its own along the subnets of the network
// (delivery_tree.h). Broadcast and all-gather send down such trees, reduce and reduce-scatter send up, and all-reduce
// sends up and down with each rank as a root in turn. All-to-all sends directly, over the slowest links first.
#pragma once

#include <vector>

#include "tessera/collectives/registry.h"

namespace tessera::collectives {

bool can_subnets(const CollectiveProblem& problem, const machine::Wires& wires);
MessagePlan plan_subnets(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters& parameters);
std::vector<Parameters> candidates_subnets(const CollectiveProblem& problem, const machine::Wires& wires);

}  // namespace tessera::collectives
