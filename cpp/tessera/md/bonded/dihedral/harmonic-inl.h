// Contains the body of harmonic impropers; harmonic.cpp includes it once for each instruction set.
#include "tessera/md/bonded/dihedral/dihedral-inl.h"
#include "tessera/md/bonded/dihedral/harmonic.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

HWY_INLINE EnergySlope Evaluate(const DihedralAngle& dihedral, std::span<const HarmonicDihedral> parameters,
                                Rows rows) {
  using P = HarmonicDihedral;
  const V k = Column(parameters, &P::k, rows);
  const V cos_phi0 = Column(parameters, &P::cos_phi0, rows), sin_phi0 = Column(parameters, &P::sin_phi0, rows);
  // φ is rotated back by φ₀, so that its angle is in (−π, π] and accurate near any φ₀.
  const V deviation = Atan2(simd::MulSub(dihedral.sine, cos_phi0, hn::Mul(dihedral.cosine, sin_phi0)),
                            simd::MulAdd(dihedral.cosine, cos_phi0, hn::Mul(dihedral.sine, sin_phi0)));
  const V half_slope = hn::Mul(k, deviation);
  return {hn::Mul(half_slope, deviation), hn::Add(half_slope, half_slope)};
}

#ifndef TESSERA_LANE
void AddHarmonics(const Atoms& atoms, const TermList<4>& terms, std::int64_t begin, std::int64_t end,
                  std::span<const HarmonicDihedral> parameters, Accumulator& accumulator) {
  AddDihedrals(atoms, terms, begin, end, parameters, accumulator, Term::improper);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
