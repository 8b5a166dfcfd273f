// What flows that were sent together tell of a network: which media are shared, what uplinks and processors carry.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/measurements.h"

namespace tessera::machine {

/// Bytes of the short messages by which the work of processors is measured.
inline constexpr std::int64_t short_piece = 2'000;

/// Hosts on one operating system, where these are two or more.
std::vector<std::vector<int>> hosts_by_kernel(const Measurements& measurements);

/// Sets medium and uplink of the subnets from the experiments that were done.
void add_contention(Network& network, const std::vector<Experiment>& experiments);

/// Adds the processors that hosts share, where their messages together took half again as long as the wires explain.
void add_processors(Network& network, const Measurements& measurements);

}  // namespace tessera::machine
