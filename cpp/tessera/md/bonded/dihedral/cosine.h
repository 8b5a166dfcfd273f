// Declares dihedrals and periodic impropers: both are cosines of the dihedral angle, and they are reported separately.
#pragma once

#include "tessera/md/bonded/kernel.h"

namespace tessera::md::bonded {

/// Holds a term k[1 + cos(nφ − δ)] with n ≥ 0; the phase is given by cosine and sine, so that no trigonometric function
/// is needed.
struct CosineTerm {
  double k;  // kcal/mol
  double cos_delta, sin_delta;
  double n;  // a whole number
};

/// Throws InputError if the multiplicity is not an integer.
CosineTerm make_cosine_term(const model::DihedralParameter&);

template <>
struct Kernel<model::Dihedral> {
  using Row = CosineTerm;
  static Row prepare(const model::DihedralParameter& p, const model::ForceField&) { return make_cosine_term(p); }
  static constexpr std::size_t key_atom = 1;
  static constexpr auto made_constant = MadeConstant::never;
  static constexpr std::array reported_as = {Term::dihedral};
  static void add(const Atoms&, const TermList<4>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

template <>
struct Kernel<model::ImproperPeriodic> {
  using Row = CosineTerm;
  static Row prepare(const model::DihedralParameter& p, const model::ForceField&) { return make_cosine_term(p); }
  static constexpr std::size_t key_atom = 1;
  static constexpr auto made_constant = MadeConstant::never;
  static constexpr std::array reported_as = {Term::improper};
  static void add(const Atoms&, const TermList<4>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

}  // namespace tessera::md::bonded
