// Pairs three bonds apart, with Lennard-Jones and Coulomb parameters of their own; no cut-off.
//
// Formula: 4ε[(σ/r)¹² − (σ/r)⁶] + f·C·qᵢqⱼ/r
// Source: Cornell et al., J. Am. Chem. Soc. 117, 5179 (1995), 10.1021/ja00124a002 (scaled 1-4 interactions)
// Units: Å, kcal/mol, elementary charge
// Cost: one square root and one division a pair, in lanes of double
#include "tessera/md/bonded/bonded.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/pair_14.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/pair_14-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddPairs14);

void add_pairs_14(const Lattice& lattice, Positions position, std::span<const double> charge, const TermList<2>& terms,
                  std::int64_t begin, std::int64_t end, std::span<const Pair14> parameters, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddPairs14)(lattice, position, charge, terms, begin, end, parameters, accumulator);
}

}  // namespace tessera::md::bonded

#endif
