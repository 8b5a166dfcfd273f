// Contains the body of bonds and Urey-Bradley terms; bond.cpp includes it once for each instruction set.
#include "tessera/md/bonded/bond/bond.h"
#include "tessera/md/bonded/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

template <bool with_energy>
TESSERA_LOOP void AddSpringsLoop(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                                 std::span<const model::BondParameter> parameters, Accumulator& accumulator,
                                 Term reported_as) {
  using P = model::BondParameter;
  const Places places(atoms.box, atoms.position);
  ForBatches(terms, begin, end, [&](const Batch<2>& batch) HWY_ATTR {
    const V3 d = places.displacement(places(batch, 1), places(batch, 0));
    const Rows rows = batch.rows;
    const V k = Column(parameters, &P::k, rows);
    const V r = hn::Sqrt(Dot(d, d)), stretch = hn::Sub(r, Column(parameters, &P::r0, rows));
    // For two atoms at the same place the direction is undefined, and the force is set to zero.
    const V scale = Where(hn::Gt(r, set(0)), hn::Div(hn::Mul(hn::Mul(set(-2), k), stretch), r));
    const V3 on_i = Mul(scale, d);
    AddBalanced(accumulator, batch, {0}, {on_i}, 1);
    if constexpr (with_energy) {
      AddEnergy(*accumulator.energies, reported_as, hn::Mul(k, hn::Mul(stretch, stretch)), batch.count);
      TermVirial virial;
      virial.add(d, on_i);
      AddVirial(*accumulator.energies, virial, batch.count);
    }
  });
}

#ifndef TESSERA_LANE
void AddSprings(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                std::span<const model::BondParameter> parameters, Accumulator& accumulator, Term reported_as) {
  const auto loop = accumulator.energies ? AddSpringsLoop<true> : AddSpringsLoop<false>;
  loop(atoms, terms, begin, end, parameters, accumulator, reported_as);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
