// Formula: U(φ, ψ) of a CmapTable
// Units: Å, kcal/mol, rad
// Cost: four square roots, four divisions and two arctangents per term, in lanes of double
#include "tessera/md/bonded/cmap/cmap.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/cmap/cmap.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/cmap/cmap-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddCmaps);

void Kernel<model::Cmap>::add(const Atoms& atoms, const TermList<8>& terms, std::int64_t begin, std::int64_t end,
                              std::span<const Row> tables, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddCmaps)(atoms, terms, begin, end, tables, accumulator);
}

}  // namespace tessera::md::bonded

#endif
