// Declares the angles of GROMOS, whose energy is harmonic in the cosine.
#pragma once

#include "tessera/md/bonded/kernel.h"

namespace tessera::md::bonded {

struct CosineAngleRow {
  double k, cosine;  // of θ₀
};

template <>
struct Kernel<model::AngleCosine> {
  using Row = CosineAngleRow;
  static Row prepare(const model::AngleParameter& parameter, const model::ForceField&);
  static constexpr std::size_t key_atom = 1;
  static constexpr auto made_constant = MadeConstant::within_rigid_water;
  static constexpr std::array reported_as = {Term::angle};
  static void add(const Atoms&, const TermList<3>&, std::int64_t begin, std::int64_t end, std::span<const Row>,
                  Accumulator&);
};

}  // namespace tessera::md::bonded
