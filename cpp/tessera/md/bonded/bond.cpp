// Bonds, Urey-Bradley terms and angles.
//
// Formula: k(r − r₀)²; k(θ − θ₀)² with θ = atan2(|u×v|, u·v), u = rᵢ − rⱼ, v = r_k − rⱼ,
//   ∂θ/∂rᵢ = u×p/(u²|p|), ∂θ/∂r_k = p×v/(v²|p|), p = u×v
// Source: Swope, Ferguson, J. Comput. Chem. 13, 585 (1992), 10.1002/jcc.540130508 (angles without 1/sin θ);
//   θ from the arctangent keeps its digits near 0 and 180°, where the arccosine loses half of them
// Units: Å, kcal/mol, rad
// Cost: one square root and one division a bond; one root and two divisions an angle, in lanes of double
#include "tessera/md/bonded/bonded.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/bonded/bond.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/bonded/bond-inl.h"

#if HWY_ONCE

namespace tessera::md::bonded {

HWY_EXPORT(AddSprings);
HWY_EXPORT(AddAngles);

void add_bonds(const Lattice& lattice, Positions position, const TermList<2>& terms, std::int64_t begin,
               std::int64_t end, std::span<const model::BondParameter> parameters, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddSprings)(lattice, position, terms, begin, end, parameters, accumulator, Term::bond);
}

void add_urey_bradleys(const Lattice& lattice, Positions position, const TermList<2>& terms, std::int64_t begin,
                       std::int64_t end, std::span<const model::BondParameter> parameters, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddSprings)(lattice, position, terms, begin, end, parameters, accumulator, Term::urey_bradley);
}

void add_angles(const Lattice& lattice, Positions position, const TermList<3>& terms, std::int64_t begin,
                std::int64_t end, std::span<const model::AngleParameter> parameters, Accumulator& accumulator) {
  HWY_DYNAMIC_DISPATCH(AddAngles)(lattice, position, terms, begin, end, parameters, accumulator);
}

}  // namespace tessera::md::bonded

#endif
