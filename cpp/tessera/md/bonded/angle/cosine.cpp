// Formula: k(cos θ − cos θ₀)² with cos θ = u·v/(|u||v|), u = rᵢ − rⱼ, v = r_k − rⱼ,
//   ∂cos θ/∂rᵢ = (v/|v| − cos θ u/|u|)/|u|, and likewise for r_k
// Source: W. R. P. Scott et al., J. Phys. Chem. A 103, 3596 (1999), 10.1021/jp984217f
// Units: Å, kcal/mol, rad in the table
// Cost: two square roots and two divisions per angle, in lanes of double
#include "tessera/md/bonded/angle/cosine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/angle/cosine.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/angle/cosine-inl.h"

#if HWY_ONCE

#include <cmath>

#include "tessera/base/math/elementary.h"

namespace tessera::md::bonded {

HWY_EXPORT(AddCosineAngles);

CosineAngleRow Kernel<model::AngleCosine>::prepare(const model::AngleParameter& p, const model::ForceField&) {
  return {p.k, math::cos(p.theta0)};
}

void Kernel<model::AngleCosine>::add(const Atoms& atoms, const TermList<3>& terms, std::int64_t begin, std::int64_t end,
                                     std::span<const Row> rows, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddCosineAngles)(atoms, terms, begin, end, rows, accumulator);
}

}  // namespace tessera::md::bonded

#endif
