// All-to-all along the network: directly, or host by host, where one rank of a host carries what all of its ranks have
// for another host.
#pragma once

#include <vector>

#include "tessera/comm/collectives/registry.h"

namespace tessera::comm::collectives {

/// Every block goes straight to its rank. Ranks send over the slowest links first, each to the rank that is as far on
/// in the order of the network as the others' is from them, so that no port is the target of many at once.
Plan plan_direct_all_to_all(const Problem& problem, const machine::Wires& wires);

/// Whether more would be on its way through some uplink than switches hold, were all blocks sent at once.
bool floods_an_uplink(const Problem& problem, const machine::Wires& wires);

/// For each pair of hosts one rank collects the blocks of its host, sends them on in pieces to one rank of the other
/// host, and that one hands them out. The wires between hosts carry the same bytes in far fewer messages and
/// connections: many small flows over one thin link lose frames, and pay for it with time-outs.
Plan plan_gathered_all_to_all(const Problem& problem, const machine::Wires& wires, std::int64_t segment);

}  // namespace tessera::comm::collectives
