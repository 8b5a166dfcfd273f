// Declares bonds and Urey-Bradley terms: both are springs between two atoms, and they are reported separately.
#pragma once

#include "tessera/md/bonded/kernel.h"

namespace tessera::md::bonded {

template <>
struct Kernel<model::Bond> : UnpreparedRows<model::Bond> {
  static constexpr std::size_t key_atom = 0;
  static constexpr auto made_constant = MadeConstant::by_any_constraint;
  static constexpr std::array reported_as = {Term::bond};
  static void add(const Atoms&, const TermList<2>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

template <>
struct Kernel<model::UreyBradley> : UnpreparedRows<model::UreyBradley> {
  static constexpr std::size_t key_atom = 0;
  // The term acts between the ends of an angle, whose distance no bond constraint fixes.
  static constexpr auto made_constant = MadeConstant::within_rigid_water;
  static constexpr std::array reported_as = {Term::urey_bradley};
  static void add(const Atoms&, const TermList<2>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

}  // namespace tessera::md::bonded
