// Formula: 4ε[(σ/r)¹² − (σ/r)⁶] + f·C·qᵢqⱼ/r, without a cut-off
// Source: Cornell et al., J. Am. Chem. Soc. 117, 5179 (1995), 10.1021/ja00124a002 (scaled 1-4 interactions)
// Units: Å, kcal/mol, elementary charge
// Cost: one square root and one division per pair, in lanes of double
#include "tessera/md/bonded/pair_14/pair_14.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/pair_14/pair_14.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/pair_14/pair_14-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddPairs14);

Pair14Row make_pair_14(const model::Pair14Parameter& p, double coulomb_constant) {
  const double s2 = p.sigma * p.sigma, s6 = s2 * s2 * s2;
  return {4 * p.epsilon * s6 * s6, 4 * p.epsilon * s6, p.charge_factor * coulomb_constant};
}

void Kernel<model::Pair14>::add(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                                std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddPairs14)(atoms, terms, begin, end, rows, accumulator);
}

}  // namespace tessera::md::bonded

#endif
