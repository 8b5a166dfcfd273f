// Formula: k[1 + cos(nφ − δ)]; cos nφ and sin nφ follow by repeated addition of φ, without trigonometric functions
// Units: Å, kcal/mol, rad
// Cost: two square roots and two divisions per row, in lanes of double
#include "tessera/md/bonded/dihedral/cosine.h"

#include <cmath>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/dihedral/cosine.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/dihedral/cosine-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddCosines);

CosineTerm make_cosine_term(const model::DihedralParameter& p) {
  const double n = std::nearbyint(p.n);
  // A fractional n would make U discontinuous where φ passes from 180° to −180°.
  if (!(std::abs(p.n - n) < 1e-6) || std::abs(n) > 64) {
    throw InputError("dihedral: multiplicity n = " + std::to_string(p.n) +
                     ", expected a whole number between -64 and 64 in k[1 + cos(n phi - delta)]");
  }
  // A negative n is replaced by cos(−nφ − δ) = cos(nφ + δ).
  const double delta = n < 0 ? -p.delta : p.delta;
  return {p.k, math::cos(delta), math::sin(delta), std::abs(n)};
}

void Kernel<model::Dihedral>::add(const Atoms& atoms, const TermList<4>& terms, std::int64_t begin, std::int64_t end,
                                  std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddCosines)(atoms, terms, begin, end, rows, accumulator, Term::dihedral);
}

void Kernel<model::ImproperPeriodic>::add(const Atoms& atoms, const TermList<4>& terms, std::int64_t begin,
                                          std::int64_t end, std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddCosines)(atoms, terms, begin, end, rows, accumulator, Term::improper);
}

}  // namespace tessera::md::bonded

#endif
