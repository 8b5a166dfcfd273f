// Formula: k(φ − φ₀)² with the difference in (−π, π]
// Units: Å, kcal/mol, rad
// Cost: two square roots, two divisions and one arctangent per row, in lanes of double
#include "tessera/md/bonded/dihedral/harmonic.h"

#include <cmath>

#include "tessera/base/math/elementary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/dihedral/harmonic.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/dihedral/harmonic-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddHarmonics);

HarmonicDihedral make_harmonic_dihedral(const model::ImproperParameter& p) {
  return {p.k, math::cos(p.phi0), math::sin(p.phi0)};
}

void Kernel<model::ImproperHarmonic>::add(const Atoms& atoms, const TermList<4>& terms, std::int64_t begin,
                                          std::int64_t end, std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddHarmonics)(atoms, terms, begin, end, rows, accumulator);
}

}  // namespace tessera::md::bonded

#endif
