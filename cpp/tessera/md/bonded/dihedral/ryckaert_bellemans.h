// Declares Ryckaert-Bellemans dihedrals, which are polynomials in the cosine.
#pragma once

#include "tessera/md/bonded/kernel.h"

namespace tessera::md::bonded {

template <>
struct Kernel<model::DihedralRb> : UnpreparedRows<model::DihedralRb> {
  static constexpr std::size_t key_atom = 1;
  static constexpr auto made_constant = MadeConstant::never;
  static constexpr std::array reported_as = {Term::dihedral};
  static void add(const Atoms&, const TermList<4>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

}  // namespace tessera::md::bonded
