// Declares harmonic impropers, which are springs in the dihedral angle.
#pragma once

#include "tessera/md/bonded/kernel.h"

namespace tessera::md::bonded {

/// Holds a term k(φ − φ₀)²; φ₀ is given by cosine and sine.
struct HarmonicDihedral {
  double k;  // kcal/mol/rad²
  double cos_phi0, sin_phi0;
};

HarmonicDihedral make_harmonic_dihedral(const model::ImproperParameter&);

template <>
struct Kernel<model::ImproperHarmonic> {
  using Row = HarmonicDihedral;
  static Row prepare(const model::ImproperParameter& p, const model::ForceField&) { return make_harmonic_dihedral(p); }
  static constexpr std::size_t key_atom = 1;
  static constexpr auto made_constant = MadeConstant::never;
  static constexpr std::array reported_as = {Term::improper};
  static void add(const Atoms&, const TermList<4>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

}  // namespace tessera::md::bonded
