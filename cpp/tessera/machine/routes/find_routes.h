// Finds the fixed routes that explain the times of permutations: those of a torus or a tree.
#pragma once

#include <optional>
#include <vector>

#include "tessera/machine/experiment.h"
#include "tessera/machine/network.h"
#include "tessera/machine/routes/routes.h"

namespace tessera::machine {

/// Smaller networks are not searched for routes, because the ports are then the limit.
inline constexpr int least_hosts_with_routes = 32;

/// Returns the flows to measure: every host sends to the one s further on, for s = 1, 2, 4, …, and to hosts drawn at
/// random, such that each receives from one host, eight times. Shifts show the distance in numbers between neighbours
/// of a torus. If routing tables send random pairs over one link, they take several times as long as one of them alone.
/// The result is always the same for the same number of hosts.
std::vector<std::vector<Flow>> route_patterns(int n_hosts);

/// Returns the routes that explain the time of the slowest flow of each pattern, relative to the slowest alone.
/// Candidates are tori of up to three directions, and the tree whose leaves are those of the network, if these are
/// alike. Returns nothing if patterns are missing, if they take no longer than flows alone, or if they differ from all
/// candidates by more than a tenth.
std::optional<Routes> find_routes(const Network& network, const std::vector<Experiment>& experiments);

}  // namespace tessera::machine
