// Formula: k(r² − r₀²)²
// Source: W. R. P. Scott et al., J. Phys. Chem. A 103, 3596 (1999), 10.1021/jp984217f
// Units: Å, kcal/mol
// Cost: neither a root nor a division, in lanes of double
#include "tessera/md/bonded/bond/quartic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/bond/quartic.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/bond/quartic-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddQuartics);

void Kernel<model::BondQuartic>::add(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                                     std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddQuartics)(atoms, terms, begin, end, rows, accumulator);
}

}  // namespace tessera::md::bonded

#endif
