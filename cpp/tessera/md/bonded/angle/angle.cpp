// Formula: k(θ − θ₀)² with θ = atan2(|u×v|, u·v), u = rᵢ − rⱼ, v = r_k − rⱼ,
//   ∂θ/∂rᵢ = u×p/(u²|p|), ∂θ/∂r_k = p×v/(v²|p|), p = u×v
// Source: Swope, Ferguson, J. Comput. Chem. 13, 585 (1992), 10.1002/jcc.540130508 (angles without 1/sin θ);
//   θ from the arctangent keeps its digits near 0 and 180°, where the arccosine loses half of them
// Units: Å, kcal/mol, rad
// Cost: one square root and two divisions per angle, in lanes of double
#include "tessera/md/bonded/angle/angle.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/angle/angle.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/angle/angle-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddAngles);

void Kernel<model::Angle>::add(const Atoms& atoms, const TermList<3>& terms, std::int64_t begin, std::int64_t end,
                               std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddAngles)(atoms, terms, begin, end, rows, accumulator);
}

}  // namespace tessera::md::bonded

#endif
