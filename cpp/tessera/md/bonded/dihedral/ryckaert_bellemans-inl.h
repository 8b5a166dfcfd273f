// Contains the body of Ryckaert-Bellemans dihedrals; ryckaert_bellemans.cpp includes it once for each instruction set.
#include "tessera/md/bonded/dihedral/dihedral-inl.h"
#include "tessera/md/bonded/dihedral/ryckaert_bellemans.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

HWY_INLINE EnergySlope Evaluate(const DihedralAngle& dihedral,
                                std::span<const model::RyckaertBellemansParameter> parameters, Rows rows) {
  using P = model::RyckaertBellemansParameter;
  const V x = hn::Neg(dihedral.cosine);  // cos(φ − 180°), and dx/dφ = sin φ
  V energy = Column<P>(parameters[0].c[5], rows), slope = set(0);
  for (std::size_t n = 5; n-- > 0;) {
    slope = simd::MulAdd(slope, x, energy);
    energy = simd::MulAdd(energy, x, Column<P>(parameters[0].c[n], rows));
  }
  return {energy, hn::Mul(slope, dihedral.sine)};
}

#ifndef TESSERA_LANE
void AddRyckaertBellemans(const Atoms& atoms, const TermList<4>& terms, std::int64_t begin, std::int64_t end,
                          std::span<const model::RyckaertBellemansParameter> parameters, Accumulator& accumulator) {
  AddDihedrals(atoms, terms, begin, end, parameters, accumulator, Term::dihedral);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
