// Declares the bonds of GROMOS, whose energy is a polynomial in r².
#pragma once

#include "tessera/md/bonded/kernel.h"

namespace tessera::md::bonded {

template <>
struct Kernel<model::BondQuartic> : UnpreparedRows<model::BondQuartic> {
  static constexpr std::size_t key_atom = 0;
  static constexpr auto made_constant = MadeConstant::by_any_constraint;
  static constexpr std::array reported_as = {Term::bond};
  static void add(const Atoms&, const TermList<2>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

}  // namespace tessera::md::bonded
