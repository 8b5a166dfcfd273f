// Finds the traffic of others on a network that is known: messages between a few pairs of hosts take longer than the map
// says, and what they have in common is busy. It is measured for some seconds, as traffic comes and goes, and means
// count, where the map itself keeps the least times (Lowekamp and Beguelin 1995, §3 and §7).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/machine/experiment.h"
#include "tessera/machine/network.h"

namespace tessera::machine {

/// Flows that share no wire, so that they may be sent at the same time.
struct TrafficProbe {
  std::vector<Flow> flows;  // by index in Network::hosts
  std::int64_t bytes = 0;   // of each
  double seconds = 0;       // that each takes where nobody else sends
};

/// Returns flows among hosts that pass each of their ports, in both directions, and each bus and up-link between them:
/// every host sends to the next and the one before in its leaf, and hosts of each part of a subnet to the next part
/// and the one before. Each takes about so many seconds where nobody else sends.
std::vector<TrafficProbe> traffic_probes(const Network& network, const std::vector<int>& hosts, double seconds);

/// Returns the traffic that explains the mean time of each flow of each probe (s). A wire is busy where a fifth of the
/// rate or more is missing in every flow that passes it; how busy follows from how much longer these take on average.
/// Buses and up-links come first, as they delay all flows of a subnet, and what they explain does not count for ports.
Traffic traffic_of(const Network& network, const std::vector<TrafficProbe>& probes,
                   const std::vector<std::vector<double>>& seconds, std::string date);

/// Returns the seconds for which the variable TESSERA_TRAFFIC asks programs to measure; 0 where it is empty. Throws
/// InputError where it is no time of at most an hour.
double seconds_for_traffic(const std::string& variable);

}  // namespace tessera::machine
