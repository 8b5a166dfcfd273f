// Computes the interaction of pairs of atoms from what an entry of the pair list holds of them. Kernels of processors and
// of devices include it once for each target.
#include "tessera/md/pair/functions-inl.h"
#include "tessera/md/pair/potentials/lookup-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

/// Tells what a kernel sums beside forces; energies come with what the virial needs.
enum class Beside { nothing, virial, energies };

/// Returns the squares of the distances, Å², of vectors from j-atoms to i-atoms.
template <bool Masked, std::size_t n>
HWY_INLINE Pack<n> SquareOfDistance(const Pack<n>& x, const Pack<n>& y, const Pack<n>& z) {
  const Pack<n> r2 = MulAdd(x, x, MulAdd(y, y, Mul(z, z)));
  // Excluded atoms may coincide. Without masks this makes the force no number, which counts as a clash.
  return Masked ? Max(r2, set(1e-4f)) : r2;
}

/// Computes the forces over the distances of pairs, and adds their energies. `entry` gives the values of i-atoms in
/// packs, those of j-atoms in registers, the entry's masks if it has any, and parameters from the table if it needs
/// those.
template <class Choice, bool Masked, Reciprocals reciprocals, bool WithEnergy, std::size_t n, class Entry,
          class Energies>
[[nodiscard]] HWY_INLINE Pack<n> ForceOverDistance(const KernelConstants& k, const Entry& entry, const Pack<n>& r2,
                                                   Energies& energies) {
  using P = Pack<n>;
  const auto distance = DistanceOf<reciprocals>(r2);
  const P &inverse = distance.inverse, &inverse2 = distance.inverse2;
  auto active = Lt(r2, set(k.range2));  // pairs within any cut-off
  const P qq = Mul(entry.ChargeI(), entry.ChargeJ());

  const P si = entry.SigmaI();
  const V sj = entry.SigmaJ();
  P lj_unit = set(1.0f);
  PairForce<P> lj;
  if constexpr (Choice::lookup == Lookup::all) {
    lj = LookUp<WithEnergy>(k, r2, Add(entry.EpsilonI(), sj));
  } else {
    // Forces are in units of the dispersion 6B/r⁶; the repulsion 12A/r¹² is then s⁶.
    const P sigma = ChosenRule<Choice>(k) == KernelRule::lorentz_berthelot ? Add(si, sj) : Mul(si, sj);
    const P s2 = Mul(Mul(sigma, sigma), inverse2), s6 = Mul(Mul(s2, s2), s2);
    lj_unit = Mul(Mul(entry.EpsilonI(), entry.EpsilonJ()), s6);
    lj = LennardJones<Choice, WithEnergy>(k, s6, One(), distance);
    if constexpr (Masked) {
      if (entry.HasTable()) {
        const P inverse6 = Mul(Mul(inverse2, inverse2), inverse2);
        const P dispersion = Mul(entry.TableDispersion(), inverse6);
        const P repulsion = Mul(entry.TableRepulsion(), Mul(inverse6, inverse6));
        lj = LennardJones<Choice, WithEnergy>(k, repulsion, dispersion, distance);
        lj_unit = set(1.0f);
        if constexpr (Choice::lookup == Lookup::some) {
          // Pairs with a potential have A = B = 0, and pairs without one look up zeros.
          const auto potential = LookUp<WithEnergy>(k, r2, entry.TableBegin());
          lj.force_times_r = Add(lj.force_times_r, potential.force_times_r);
          lj.energy = Add(lj.energy, potential.energy);
        }
      }
    }
  }
  if (HasTwoCutoffs<Choice>(k)) lj_unit = IfThenElseZero(Lt(r2, set(k.lj_cutoff2)), lj_unit);
  P coulomb, potential = hn::Zero(D());  // F·r and energy of unit charges
  auto interact = active;
  if constexpr (Masked) interact = And(active, entry.Interact());
  if (ChosenCoulomb<Choice>(k) == Electrostatics::pme) {
    // Pairs that interact feel 1/r minus the mesh's contribution; excluded ones feel only minus that contribution.
    P direct = inverse;
    if constexpr (Masked) {
      active = And(active, Or(interact, entry.Excluded()));
      direct = IfThenElseZero(interact, inverse);
      lj_unit = IfThenElseZero(interact, lj_unit);
    }
    coulomb = WithoutMesh<Choice>(k, entry.Pieces(), r2, direct);
    if constexpr (WithEnergy) {
      const P t = MulAdd(r2, set(k.ewald_scale), set(-1.0f));
      potential = Sub(inverse, Evaluate<ewald_degree_high>(k.ewald_energy, t));
    }
  } else {
    const auto plain = PlainCoulomb<WithEnergy>(k, distance);
    coulomb = plain.force_times_r;
    potential = plain.energy;
    active = interact;
  }
  P force_times_r = MulAdd(lj_unit, lj.force_times_r, Mul(qq, coulomb));
  P lj_energy = Mul(lj_unit, lj.energy);
  if (ChosenLj<Choice>(k) == LjModifier::pme) {
    const P dispersion = IfThenElseZero(Lt(r2, set(k.lj_cutoff2)), Mul(DispersionFactor(k.rule, si, entry.EpsilonI()),
                                                                       DispersionFactor(k.rule, sj, entry.EpsilonJ())));
    const auto without_mesh = DispersionWithoutMesh<WithEnergy>(k, r2);
    force_times_r = MulAdd(dispersion, without_mesh.force_times_r, force_times_r);
    lj_energy = MulAdd(dispersion, without_mesh.energy, lj_energy);
  }
  if constexpr (WithEnergy)
    energies.Add(IfThenElseZero(interact, lj_energy), IfThenElseZero(interact, Mul(qq, potential)));
  return IfThenElseZero(active, Mul(force_times_r, inverse2));
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
