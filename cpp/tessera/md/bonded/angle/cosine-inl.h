// Contains the body of GROMOS' angles; cosine.cpp includes it once for each instruction set.
#include "tessera/md/bonded/angle/cosine.h"
#include "tessera/md/bonded/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

template <bool with_energy>
TESSERA_LOOP void AddCosineAnglesLoop(const Atoms& atoms, const TermList<3>& terms, std::int64_t begin,
                                      std::int64_t end, std::span<const CosineAngleRow> parameters,
                                      Accumulator& accumulator) {
  using P = CosineAngleRow;
  const Places places(atoms.box, atoms.position);
  ForBatches(terms, begin, end, [&](const Batch<3>& batch) HWY_ATTR {
    const auto centre = places(batch, 1);
    const V3 u = places.displacement(centre, places(batch, 0)), v = places.displacement(centre, places(batch, 2));
    const Rows rows = batch.rows;
    const V k = Column(parameters, &P::k, rows);
    // For two atoms at the same place the angle is undefined, and the force is set to zero.
    const V least = set(1e-100), u2 = hn::Max(Dot(u, u), least), v2 = hn::Max(Dot(v, v), least);
    const V inverse_u = hn::Div(set(1), hn::Sqrt(u2)), inverse_v = hn::Div(set(1), hn::Sqrt(v2));
    const auto is_defined = hn::And(hn::Gt(u2, least), hn::Gt(v2, least));
    const V3 along_u = Mul(inverse_u, u), along_v = Mul(inverse_v, v);
    const V cosine = Dot(along_u, along_v), deviation = hn::Sub(cosine, Column(parameters, &P::cosine, rows));
    const V slope = Where(is_defined, hn::Mul(hn::Mul(set(-2), k), deviation));
    const V on_u = hn::Mul(slope, inverse_u), on_v = hn::Mul(slope, inverse_v);
    const V3 on_i = Mul(on_u, Sub(along_v, Mul(cosine, along_u))), on_k = Mul(on_v, Sub(along_u, Mul(cosine, along_v)));
    AddBalanced(accumulator, batch, {0, 2}, {on_i, on_k}, 1);
    if constexpr (with_energy) {
      AddEnergy(*accumulator.energies, Term::angle, hn::Mul(k, hn::Mul(deviation, deviation)), batch.count);
      TermVirial virial;
      virial.add(u, on_i);
      virial.add(v, on_k);
      AddVirial(*accumulator.energies, virial, batch.count);
    }
  });
}

#ifndef TESSERA_LANE
void AddCosineAngles(const Atoms& atoms, const TermList<3>& terms, std::int64_t begin, std::int64_t end,
                     std::span<const CosineAngleRow> parameters, Accumulator& accumulator) {
  const auto loop = accumulator.energies ? AddCosineAnglesLoop<true> : AddCosineAnglesLoop<false>;
  loop(atoms, terms, begin, end, parameters, accumulator);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
