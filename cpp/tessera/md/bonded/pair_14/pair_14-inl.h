// Contains the body of 1-4 pairs; pair_14.cpp includes it once for each instruction set.
#include "tessera/md/bonded/lanes-inl.h"
#include "tessera/md/bonded/pair_14/pair_14.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

template <bool with_energy>
TESSERA_LOOP void AddPairs14Loop(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                                 std::span<const Pair14Row> parameters, Accumulator& accumulator) {
  const Places places(atoms.box, atoms.position);
  ForBatches(terms, begin, end, [&](const Batch<2>& batch) HWY_ATTR {
    const V3 d = places.displacement(places(batch, 1), places(batch, 0));
    const Rows rows = batch.rows;
    // Two atoms at the same place give infinities on purpose: fixed point saturates, and the run stops as blown up.
    const V r2_inverse = hn::Div(set(1), Dot(d, d)), r6_inverse = hn::Mul(r2_inverse, hn::Mul(r2_inverse, r2_inverse));
    const V attraction = hn::Mul(Column(parameters, &Pair14Row::c6, rows), r6_inverse);
    const V repulsion = hn::Mul(hn::Mul(Column(parameters, &Pair14Row::c12, rows), r6_inverse), r6_inverse);
    const V q_i = Charges(atoms, batch, 0), q_j = Charges(atoms, batch, 1);
    const V coulomb =
        hn::Mul(hn::Mul(hn::Mul(Column(parameters, &Pair14Row::charge_factor, rows), q_i), q_j), hn::Sqrt(r2_inverse));
    const V slope = simd::MulAdd(set(12), repulsion, simd::NegMulAdd(set(6), attraction, coulomb));
    const V3 on_i = Mul(hn::Mul(slope, r2_inverse), d);
    AddBalanced(accumulator, batch, {0}, {on_i}, 1);
    if constexpr (with_energy) {
      AddEnergy(*accumulator.energies, Term::lj_14, hn::Sub(repulsion, attraction), batch.count);
      AddEnergy(*accumulator.energies, Term::coulomb_14, coulomb, batch.count);
      TermVirial virial;
      virial.add(d, on_i);
      AddVirial(*accumulator.energies, virial, batch.count);
    }
  });
}

#ifndef TESSERA_LANE
void AddPairs14(const Atoms& atoms, const TermList<2>& terms, std::int64_t begin, std::int64_t end,
                std::span<const Pair14Row> parameters, Accumulator& accumulator) {
  const auto loop = accumulator.energies ? AddPairs14Loop<true> : AddPairs14Loop<false>;
  loop(atoms, terms, begin, end, parameters, accumulator);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
