// Computes the dihedral angle and loops over terms of it; each kind of dihedral includes it once for each instruction
// set.
#include "tessera/md/bonded/kernel.h"
#include "tessera/md/bonded/lanes-inl.h"

#if defined(TESSERA_MD_BONDED_DIHEDRAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_MD_BONDED_DIHEDRAL_INL_H
#undef TESSERA_MD_BONDED_DIHEDRAL_INL_H
#else
#define TESSERA_MD_BONDED_DIHEDRAL_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

/// Computes the dihedral of atoms `first` to `first` + 3 of a term: cosine and sine of φ (IUPAC: trans is 180°,
/// clockwise positive) and the factors of its gradient, without trigonometric functions.
///
/// Formula: F = rᵢ − rⱼ, G = rⱼ − r_k, H = r_l − r_k, A = F×G, B = H×G;
///   cos φ = A·B/|A||B|, sin φ = (B×A)·G/|A||B||G| = −|G|(F·B)/|A||B|; ∂φ/∂rᵢ = −|G|A/A², ∂φ/∂r_l = |G|B/B²
/// Source: Blondel, Karplus, J. Comput. Chem. 17, 1132 (1996),
///   10.1002/(SICI)1096-987X(19960715)17:9<1132::AID-JCC5>3.0.CO;2-T
/// Units: Å
struct DihedralAngle {
  std::size_t first;
  V3 f, g, h, a, b;
  V cosine, sine;
  V scale_a, scale_b;  // |G|/A², |G|/B², Å⁻¹; 0 where three atoms are in line and φ is undefined
  V along_f, along_h;  // F·G/G², H·G/G²

  template <int arity>
  HWY_INLINE DihedralAngle(const Places& places, const Batch<arity>& batch, std::size_t first_) : first(first_) {
    const auto j = places(batch, first + 1), k = places(batch, first + 2);
    f = places.displacement(j, places(batch, first));
    g = places.displacement(k, j);
    h = places.displacement(k, places(batch, first + 3));
    a = Cross(f, g);
    b = Cross(h, g);
    const V in_line = set(1e-16);  // Å⁴: three atoms within 1e-8 Å of a line, below what positions resolve
    const V a2 = Dot(a, a), b2 = Dot(b, b), g2 = Dot(g, g);
    const M defined = hn::And(hn::Gt(a2, in_line), hn::Gt(b2, in_line));  // also g2 > 0 where this is true
    const V length = hn::Sqrt(g2);
    const V x = Dot(a, b), y = hn::Neg(hn::Mul(length, Dot(f, b)));  // (B×A)·G = −G²(F·B)
    const V inverse = hn::Div(
        set(1), hn::Sqrt(simd::MulAdd(x, x, hn::Mul(y, y))));  // normalises cos² + sin² to 1 near 0 and 180° too
    cosine = hn::IfThenElse(defined, hn::Mul(x, inverse), set(1));
    sine = Where(defined, hn::Mul(y, inverse));
    // One division yields 1/A², 1/B² and 1/G².
    const V a2b2 = hn::Mul(a2, b2), all = Where(defined, hn::Div(set(1), hn::Mul(a2b2, g2)));
    const V all_g3 = hn::Mul(all, hn::Mul(g2, length)), inverse_g2 = hn::Mul(all, a2b2);
    scale_a = hn::Mul(all_g3, b2);
    scale_b = hn::Mul(all_g3, a2);
    along_f = hn::Mul(Dot(f, g), inverse_g2);
    along_h = hn::Mul(Dot(h, g), inverse_g2);
  }

  HWY_INLINE V angle() const { return Atan2(sine, cosine); }

  /// Adds the forces of terms with dU/dφ = `slope` (kcal/mol/rad), and their virial.
  template <bool with_energy, int arity>
  HWY_INLINE void add(Accumulator& accumulator, const Batch<arity>& batch, V slope, TermVirial& virial) const {
    const V3 on_i = Mul(hn::Mul(slope, scale_a), a), on_l = Mul(hn::Neg(hn::Mul(slope, scale_b)), b);
    const V3 on_k = MulAdd(along_f, on_i, MulSub(along_h, on_l, on_l));
    AddBalanced(accumulator, batch, {first, first + 2, first + 3}, {on_i, on_k, on_l}, first + 1);
    if constexpr (with_energy) {
      // Vectors from atom j are r_i − r_j = F, r_k − r_j = −G and r_l − r_j = H − G.
      virial.add(f, on_i);
      virial.add(Neg(g), on_k);
      virial.add(Sub(h, g), on_l);
    }
  }
};

struct EnergySlope {
  V energy;  // kcal/mol
  V slope;   // dU/dφ, kcal/mol/rad
};

/// Adds terms whose energy is a function of one dihedral angle, which Evaluate(angle, parameters, rows) of the kind
/// computes.
template <bool with_energy, class Parameter>
TESSERA_LOOP void AddDihedralsLoop(const Atoms& atoms, const TermList<4>& terms, std::int64_t begin, std::int64_t end,
                                   std::span<const Parameter> parameters, Accumulator& accumulator, Term reported_as) {
  const Places places(atoms.box, atoms.position);
  ForBatches(terms, begin, end, [&](const Batch<4>& batch) HWY_ATTR {
    const DihedralAngle dihedral(places, batch, 0);
    const EnergySlope u = Evaluate(dihedral, parameters, batch.rows);
    TermVirial virial;
    dihedral.add<with_energy>(accumulator, batch, u.slope, virial);
    if constexpr (with_energy) {
      AddEnergy(*accumulator.energies, reported_as, u.energy, batch.count);
      AddVirial(*accumulator.energies, virial, batch.count);
    }
  });
}

#ifndef TESSERA_LANE
template <class Parameter>
void AddDihedrals(const Atoms& atoms, const TermList<4>& terms, std::int64_t begin, std::int64_t end,
                  std::span<const Parameter> parameters, Accumulator& accumulator, Term reported_as) {
  const auto loop = accumulator.energies ? AddDihedralsLoop<true, Parameter> : AddDihedralsLoop<false, Parameter>;
  loop(atoms, terms, begin, end, parameters, accumulator, reported_as);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();

#endif
