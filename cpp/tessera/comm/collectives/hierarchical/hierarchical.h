// The entry `hierarchical`: the MPI library's own collectives inside each host, where it has shared memory, and a plan
// of another entry between one leader of each (paper 002, §7).
#pragma once

#include <vector>

#include "tessera/comm/collectives/registry.h"

namespace tessera::comm::collectives {

bool can_hierarchical(const Problem& problem, const machine::Wires& wires);
/// `pattern`: the entry between hosts and its own pattern: "ring", "subnets,chain"; binomial where it can't do it.
Plan plan_hierarchical(const Problem& problem, const machine::Wires& wires, const Parameters& parameters);
std::vector<Parameters> candidates_hierarchical(const Problem& problem, const machine::Wires& wires);

/// The rank of a host that talks to other hosts: the root, else the lowest.
int leader_of(const Problem& problem, const machine::Wires& wires, int host);

}  // namespace tessera::comm::collectives
