// Derives the network from measured times: its tree of subnets (partition.h), the latency and bandwidth of each,
// whether it is a bus or a switch, and the capacity of its uplink.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/measurements.h"

namespace tessera::machine {

/// Derives the tree from the times of all sizes together: two hosts are joined only if they pass the rule of Lowekamp
/// and Beguelin (1995) at every size, since a further switch shows in short messages and a thin link in long ones.
/// Latency and bandwidth of a link class are fitted to the medians of its pairs. Medium, uplink and routes
/// (routes/find_routes.h) come from the experiments, and stay unknown without them. Leaves that have parts according to
/// the experiments are divided (split_by_load.h). Throws InputError if nothing was measured.
Network derive_network(const Measurements& measurements);

/// Derives the network from the times between pairs alone.
Network network_of_times(const Measurements& measurements);

/// Fits time = latency + bytes / bandwidth to the shortest and the longest message, latency ≥ 0 and bandwidth > 0. NaN
/// is left out; returns nothing if no time is known. A single size determines the bandwidth alone.
std::optional<Link> fit_link(std::span<const std::int64_t> sizes, std::span<const double> seconds);

}  // namespace tessera::machine
