// Interprets flows that were sent together: which media are shared, and what uplinks and processors carry.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/measurements.h"

namespace tessera::machine {

/// The work of processors is measured by short messages of this size, in bytes.
inline constexpr std::int64_t short_piece = 2'000;

/// Returns the sets of two or more hosts that run on one operating system.
std::vector<std::vector<int>> hosts_by_kernel(const Measurements& measurements);

/// Sets medium and uplink of the subnets from the completed experiments.
void add_contention(Network& network, const std::vector<Experiment>& experiments);

/// Adds the processors that hosts share, if their messages together took half again as long as the wires explain.
void add_processors(Network& network, const Measurements& measurements);

}  // namespace tessera::machine
