// Contains the body of GROMOS' bonds; quartic.cpp includes it once for each instruction set.
#include "tessera/md/bonded/bond/quartic.h"
#include "tessera/md/bonded/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

template <bool with_energy>
TESSERA_LOOP void AddQuarticsLoop(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                                  std::span<const model::BondParameter> parameters, Accumulator& accumulator) {
  using P = model::BondParameter;
  const Places places(atoms.box, atoms.position);
  ForBatches(terms, begin, end, [&](const Batch<2>& batch) HWY_ATTR {
    const V3 d = places.displacement(places(batch, 1), places(batch, 0));
    const Rows rows = batch.rows;
    const V k = Column(parameters, &P::k, rows), r0 = Column(parameters, &P::r0, rows);
    const V stretch = hn::Sub(Dot(d, d), hn::Mul(r0, r0));
    const V3 on_i = Mul(hn::Mul(hn::Mul(set(-4), k), stretch), d);
    AddBalanced(accumulator, batch, {0}, {on_i}, 1);
    if constexpr (with_energy) {
      AddEnergy(*accumulator.energies, Term::bond, hn::Mul(k, hn::Mul(stretch, stretch)), batch.count);
      TermVirial virial;
      virial.add(d, on_i);
      AddVirial(*accumulator.energies, virial, batch.count);
    }
  });
}

#ifndef TESSERA_LANE
void AddQuartics(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                 std::span<const model::BondParameter> parameters, Accumulator& accumulator) {
  const auto loop = accumulator.energies ? AddQuarticsLoop<true> : AddQuarticsLoop<false>;
  loop(atoms, terms, begin, end, parameters, accumulator);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
