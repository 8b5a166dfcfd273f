// Runs the kernels of pairs of a device on this host, for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/pair_data.h"

namespace tessera::md::pair::test {

/// Adds forces, and what else the accumulator wants, of all entries of a list but those that clash. The seed decides in
/// which order warps have their turns. Needs simd::has_host_lanes().
void add_pairs_on_host(const PairData& data, const PairList& list, std::uint64_t seed, Accumulator& accumulator,
                       std::vector<Clash>& clashes);

}  // namespace tessera::md::pair::test
