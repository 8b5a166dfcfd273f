// Fewer than p(p - 1)/2 measurements: structure first, sampling second.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tessera/machine/partition.h"

namespace tessera::machine {

using HostPair = std::pair<int, int>;

/// All pairs up to 16 hosts, beyond that 4 p log₂ p.
std::int64_t default_pair_budget(int n_hosts);

/// The pairs to measure next, given what is known (a matrix of each message size; at first NaN everywhere): call,
/// measure, call again until none is left. No more than `budget` pairs are known or asked for in the end.
///
/// Up to 16 hosts: all pairs. Beyond, neighbours in the list of hosts, as host names often follow the racks; then
/// pivots: one host against all of its group, which falls apart by the times, and the same in every part, until a few
/// pivots find no difference; last, hosts of each pair of subnets, which puts right what a bad measurement has torn
/// apart.
std::vector<HostPair> pairs_to_measure(std::span<const TimeMatrix> known, std::int64_t budget);

}  // namespace tessera::machine
