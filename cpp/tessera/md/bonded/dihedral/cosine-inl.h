// Contains the body of dihedrals and periodic impropers; cosine.cpp includes it once for each instruction set.
#include "tessera/md/bonded/dihedral/cosine.h"
#include "tessera/md/bonded/dihedral/dihedral-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

HWY_INLINE EnergySlope Evaluate(const DihedralAngle& dihedral, std::span<const CosineTerm> parameters, Rows rows) {
  const V k = Column(parameters, &CosineTerm::k, rows), n = Column(parameters, &CosineTerm::n, rows);
  const V cos_delta = Column(parameters, &CosineTerm::cos_delta, rows);
  const V sin_delta = Column(parameters, &CosineTerm::sin_delta, rows);
  // This computes cos nφ and sin nφ; each lane keeps the values at its own n.
  V cosine = dihedral.cosine, sine = dihedral.sine;
  V cos_n = set(1), sin_n = set(0);
  const int highest = static_cast<int>(hn::GetLane(hn::MaxOfLanes(D(), n)));
  for (int m = 1; m <= highest; ++m) {
    const M here = hn::Eq(n, set(m));
    cos_n = hn::IfThenElse(here, cosine, cos_n);
    sin_n = hn::IfThenElse(here, sine, sin_n);
    const V next = simd::MulSub(cosine, dihedral.cosine, hn::Mul(sine, dihedral.sine));
    sine = simd::MulAdd(sine, dihedral.cosine, hn::Mul(cosine, dihedral.sine));
    cosine = next;
  }
  const V wave = simd::MulAdd(cos_n, cos_delta, hn::Mul(sin_n, sin_delta));
  const V wave_slope = simd::MulSub(cos_n, sin_delta, hn::Mul(sin_n, cos_delta));
  return {simd::MulAdd(k, wave, k), hn::Mul(hn::Mul(k, n), wave_slope)};
}

#ifndef TESSERA_LANE
void AddCosines(const Atoms& atoms, const TermList<4>& terms, std::int64_t begin, std::int64_t end,
                std::span<const CosineTerm> parameters, Accumulator& accumulator, Term reported_as) {
  AddDihedrals(atoms, terms, begin, end, parameters, accumulator, reported_as);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
