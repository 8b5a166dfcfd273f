// Sums the virial of pair forces over atoms instead of pairs, so that a kernel need not sum it.
//
// The virial of pairs is W = Σ (r_i − r_j − s)⊗F_ij, where r is an atom's place relative to the centre of its cell,
// F_ij the force on i, and s the vector from i's cell to j's. Sorted by atom and by s, that is
//
//   W = Σ_atoms r⊗F + Σ_s s⊗F_s
//
// with F the force of all pairs on an atom and F_s the force on all atoms in the role of j that are seen at s
// (CellForces). Forces are integers, places are rounded to integers of 2⁻²⁰ Å, and products are summed without
// rounding. The result does therefore not depend on how pairs are shared between threads and ranks.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/clusters/cluster_kernel.h"

namespace tessera::md::pair {

class SingleSumVirial {
 public:
  /// Components of places, in place_unit, and of forces, in pair_force_unit.
  using Integers = std::array<std::int64_t, 3>;

  static constexpr double place_unit = 1.0 / 1048576.0;  // Å
  static_assert(place_unit * pair_force_unit == exact_virial_unit);

  static std::int64_t to_place(double coordinate) { return std::llrint(coordinate / place_unit); }

  void add(const Integers& place, const Integers& force) {
    for (std::size_t c = 0; c < 6; ++c) {
      const auto [a, b] = components[c];
      sums_.add_exact_virial(c, place[a] * force[b]);
    }
  }
  /// Adds the sum to a virial.
  void add_to(EnergyVirial& energies) const { energies.merge(sums_); }

 private:
  static constexpr std::size_t components[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

  EnergyVirial sums_;
};

}  // namespace tessera::md::pair
