// The network behind measured times: its tree of subnets (partition.h), the latency and bandwidth of each, whether it
// is a bus or a switch, and what can leave it at once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/measurements.h"

namespace tessera::machine {

/// The tree from the times of all sizes together: two hosts are joined only if they pass the rule of Lowekamp and
/// Beguelin (1995) at every size, since a further switch shows in short messages and a thin link in long ones. Latency
/// and bandwidth of a link class are fitted to the medians of its pairs; medium and uplink come from the experiments,
/// and stay unknown without. Routes too (routes/find_routes.h). Leaves that the experiments show to have parts are
/// divided (split_by_load.h). Throws InputError where nothing was measured.
Network derive_network(const Measurements& measurements);

/// The same from the times between pairs alone.
Network network_of_times(const Measurements& measurements);

/// time = latency + bytes / bandwidth through the shortest and the longest message, latency ≥ 0 and bandwidth > 0; NaN
/// is left out; absent where no time is known. One size alone counts as bandwidth.
std::optional<Link> fit_link(std::span<const std::int64_t> sizes, std::span<const double> seconds);

}  // namespace tessera::machine
