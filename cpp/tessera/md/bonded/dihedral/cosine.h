// Dihedrals and periodic impropers: a cosine of the dihedral angle, reported apart.
#pragma once

#include "tessera/md/bonded/kernel.h"

namespace tessera::md::bonded {

/// k[1 + cos(nφ − δ)] with n ≥ 0 and the phase as cosine and sine, so that no trigonometric function is left to call.
struct CosineTerm {
  double k;  // kcal/mol
  double cos_delta, sin_delta;
  double n;  // a whole number
};

/// Throws InputError where the multiplicity is not a whole number.
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
