// Formula: k(r − r₀)²
// Units: Å, kcal/mol
// Cost: one square root and one division per term, in lanes of double
#include "tessera/md/bonded/bond/bond.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/bond/bond.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/bond/bond-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddSprings);

void Kernel<model::Bond>::add(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                              std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddSprings)(atoms, terms, begin, end, rows, accumulator, Term::bond);
}

void Kernel<model::UreyBradley>::add(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                                     std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddSprings)(atoms, terms, begin, end, rows, accumulator, Term::urey_bradley);
}

}  // namespace tessera::md::bonded

#endif
