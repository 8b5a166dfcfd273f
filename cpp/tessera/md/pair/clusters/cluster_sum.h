// Declares the schemes that compute pairs of 4-atom clusters from a list: in SIMD single precision, or one by one in
// double precision.
#pragma once

#include <memory>

#include "tessera/md/pair/pair_scheme.h"

namespace tessera::md::pair {

/// Makes the scheme that runs the fast kernel of cluster_kernel.h.
std::unique_ptr<PairSum> make_cluster_scheme(const PairData& data);
/// Makes the scheme that runs exact_pairs.h over the same list: the reference of tests, and the one for precision =
/// "double".
std::unique_ptr<PairSum> make_reference_scheme(const PairData& data);

PairBytes plan_cluster_scheme(const PairCounts& counts, const PairSettings& settings);
PairBytes plan_reference_scheme(const PairCounts& counts, const PairSettings& settings);

}  // namespace tessera::md::pair
