// Plans all-to-all along the network: directly, or host by host, where one rank of a host sends what all of its ranks
// have for another host.
#pragma once

#include <vector>

#include "tessera/collectives/registry.h"

namespace tessera::collectives {

/// Sends every block straight to its rank. Ranks send over the slowest links first, and all of them to ranks at the
/// same distance in the order of the network, so that no port is the target of many at once.
MessagePlan plan_direct_all_to_all(const CollectiveProblem& problem, const machine::Wires& wires);

/// Tells whether some uplink would carry more bytes at once than switches can buffer if all blocks were sent at the
/// same time.
bool floods_an_uplink(const CollectiveProblem& problem, const machine::Wires& wires);

/// Plans that for each pair of hosts one rank collects the blocks of its host and sends them in pieces to one rank of
/// the other host, which distributes them. The wires between hosts carry the same bytes in far fewer messages and
/// connections: many small flows over one thin link lose frames, which costs time-outs.
MessagePlan plan_gathered_all_to_all(const CollectiveProblem& problem, const machine::Wires& wires,
                                     std::int64_t segment);

}  // namespace tessera::collectives
