// Pairs of 4-atom clusters from a list: in SIMD single precision, or one by one in double precision.
#pragma once

#include <memory>

#include "tessera/md/pair/pair_scheme.h"

namespace tessera::md::pair {

/// The fast kernel of cluster_kernel.h.
std::unique_ptr<PairSum> make_cluster_scheme(const PairData& data);
/// exact_pairs.h over the same list: the oracle, and what precision = "double" runs.
std::unique_ptr<PairSum> make_reference_scheme(const PairData& data);

PairBytes plan_cluster_scheme(const PairCounts& counts, const PairSettings& settings);
PairBytes plan_reference_scheme(const PairCounts& counts, const PairSettings& settings);

}  // namespace tessera::md::pair
