// Fixed routes behind the times of permutations: which torus or tree would make them.
#pragma once

#include <optional>
#include <vector>

#include "tessera/machine/experiment.h"
#include "tessera/machine/network.h"
#include "tessera/machine/routes/routes.h"

namespace tessera::machine {

/// Networks of fewer hosts are not looked at: what a port carries is then the limit.
inline constexpr int least_hosts_with_routes = 32;

/// What is asked: every host sends to the one s further on, for s = 1, 2, 4, …, and to hosts drawn at random, each to
/// one and from one, eight times. Shifts show how far apart neighbours of a torus are numbered; where tables of
/// destinations send random pairs over one link, they take several times as long as one of them alone. Always the same
/// for the same number of hosts.
std::vector<std::vector<Flow>> route_patterns(int n_hosts);

/// The routes that explain what the slowest flow of each pattern took beside the slowest alone: tori of up to three
/// directions, and the tree that the leaves of the network are of, if these are alike. None where patterns are missing,
/// take no longer than flows alone, or differ from all of these by more than a tenth.
std::optional<Routes> find_routes(const Network& network, const std::vector<Experiment>& experiments);

}  // namespace tessera::machine
