// Contains the body of angles; angle.cpp includes it once for each instruction set.
#include "tessera/md/bonded/angle/angle.h"
#include "tessera/md/bonded/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

template <bool with_energy>
TESSERA_LOOP void AddAnglesLoop(const Atoms& atoms, const TermList<3>& terms, std::int64_t begin, std::int64_t end,
                                std::span<const model::AngleParameter> parameters, Accumulator& accumulator) {
  using P = model::AngleParameter;
  const Places places(atoms.box, atoms.position);
  ForBatches(terms, begin, end, [&](const Batch<3>& batch) HWY_ATTR {
    const auto centre = places(batch, 1);
    const V3 u = places.displacement(centre, places(batch, 0)), v = places.displacement(centre, places(batch, 2));
    const Rows rows = batch.rows;
    const V k = Column(parameters, &P::k, rows);
    const V3 normal = Cross(u, v);
    const V u2 = Dot(u, u), v2 = Dot(v, v), n2 = Dot(normal, normal), length = hn::Sqrt(n2);
    const V deviation = hn::Sub(Atan2(length, Dot(u, v)), Column(parameters, &P::theta0, rows));
    // For atoms in line the direction of the force is undefined (and for θ₀ = 180° the force is zero).
    const V slope = hn::Mul(hn::Mul(set(2), k), deviation);
    const V scale = Where(hn::Gt(n2, hn::Mul(set(1e-20), hn::Mul(u2, v2))),
                          hn::Div(hn::Neg(slope), hn::Mul(length, hn::Mul(u2, v2))));
    const V3 on_i = Mul(hn::Mul(scale, v2), Cross(u, normal)), on_k = Mul(hn::Mul(scale, u2), Cross(normal, v));
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
void AddAngles(const Atoms& atoms, const TermList<3>& terms, std::int64_t begin, std::int64_t end,
               std::span<const model::AngleParameter> parameters, Accumulator& accumulator) {
  const auto loop = accumulator.energies ? AddAnglesLoop<true> : AddAnglesLoop<false>;
  loop(atoms, terms, begin, end, parameters, accumulator);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
