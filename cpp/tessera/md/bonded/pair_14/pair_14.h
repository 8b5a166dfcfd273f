// Declares pairs of atoms three bonds apart, which have Lennard-Jones and Coulomb parameters of their own.
#pragma once

#include "tessera/md/bonded/kernel.h"

namespace tessera::md::bonded {

/// Holds a term c12/r¹² − c6/r⁶ + charge_factor·qᵢqⱼ/r.
struct Pair14Row {
  double c12, c6;        // kcal/mol·Å¹², kcal/mol·Å⁶
  double charge_factor;  // f·C, kcal Å mol⁻¹ e⁻²
};

Pair14Row make_pair_14(const model::Pair14Parameter&, double coulomb_constant);

template <>
struct Kernel<model::Pair14> {
  using Row = Pair14Row;
  static Row prepare(const model::Pair14Parameter& p, const model::ForceField& field) {
    return make_pair_14(p, field.coulomb_constant);
  }
  static constexpr std::size_t key_atom = 0;
  static constexpr auto made_constant = MadeConstant::never;
  static constexpr std::array reported_as = {Term::lj_14, Term::coulomb_14};
  static void add(const Atoms&, const TermList<2>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

}  // namespace tessera::md::bonded
