// Formula: Σ Cₙ cosⁿ(φ − 180°)
// Source: Ryckaert, Bellemans, Chem. Phys. Lett. 30, 123 (1975), 10.1016/0009-2614(75)85513-8
// Units: Å, kcal/mol, rad
// Cost: two square roots and two divisions per row, in lanes of double
#include "tessera/md/bonded/dihedral/ryckaert_bellemans.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/dihedral/ryckaert_bellemans.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/dihedral/ryckaert_bellemans-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddRyckaertBellemans);

void Kernel<model::DihedralRb>::add(const Atoms& atoms, const TermList<4>& terms, std::int64_t begin, std::int64_t end,
                                    std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddRyckaertBellemans)(atoms, terms, begin, end, rows, accumulator);
}

}  // namespace tessera::md::bonded

#endif
