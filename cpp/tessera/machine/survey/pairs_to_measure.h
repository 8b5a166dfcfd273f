// Chooses fewer than p(p - 1)/2 measurements: structure comes first, sampling second.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tessera/machine/partition.h"

namespace tessera::machine {

using HostPair = std::pair<int, int>;

/// Returns the number of all pairs up to 16 hosts, and 4 p log₂ p beyond that.
std::int64_t default_pair_budget(int n_hosts);

/// Returns the pairs to measure next, given what is known (a matrix for each message size; at first NaN everywhere).
/// The caller measures them and calls again until none is left. No more than `budget` pairs are known or asked for in
/// the end.
///
/// Up to 16 hosts these are all pairs. Beyond that they are neighbours in the list of hosts, as host names often follow
/// the racks; then pivots: one host against all of its group, which is divided by the times, and the same in every
/// part, until a few pivots find no difference; last, hosts of each pair of subnets, which corrects divisions caused by
/// a bad measurement.
std::vector<HostPair> pairs_to_measure(std::span<const TimeMatrix> known, std::int64_t budget);

}  // namespace tessera::machine
