// The entry `hierarchical` uses the MPI library's own collectives inside each host, where the library has shared
// memory, and a plan of another entry between one leader of each host (Lowekamp and Beguelin 1995, §7).
#pragma once

#include <vector>

#include "tessera/collectives/registry.h"

namespace tessera::collectives {

bool can_hierarchical(const CollectiveProblem& problem, const machine::Wires& wires);
/// Plans a collective inside and between hosts. `parameters.pattern` names the entry between hosts and that entry's own
/// pattern: "ring", "subnets,chain". Where that entry can't do the problem, binomial is taken.
MessagePlan plan_hierarchical(const CollectiveProblem& problem, const machine::Wires& wires,
                              const Parameters& parameters);
std::vector<Parameters> candidates_hierarchical(const CollectiveProblem& problem, const machine::Wires& wires);

/// Returns the rank of a host that communicates with other hosts: the root where it is on this host, else the lowest
/// rank.
int leader_of(const CollectiveProblem& problem, const machine::Wires& wires, int host);

}  // namespace tessera::collectives
