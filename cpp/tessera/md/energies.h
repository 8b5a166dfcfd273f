// Energies and what follows from them, summed over all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/md/accumulator.h"

namespace tessera::md {

/// Tells what a step sums beside forces, each with what comes before it. Energies of pairs cost far more than the
/// virial.
enum class StepSums { none, virial, energies };

/// What a step's forces came from. kcal/mol, K, bar.
struct Energies {
  std::array<double, n_terms> term{};
  std::array<double, 6> virial{};  // xx yy zz xy xz yz, with that of the constraints
  /// The same without what Motion::set_box() does no work against: Σ R⊗F over constraint groups, R the place of the
  /// first atom and F the force on the group.
  std::array<double, 6> group_scaling_virial{};
  std::vector<std::array<double, 6>> group_virial;  // by force group, where there are several
  double kinetic = 0;

  double temperature = 0;
  double pressure = 0;   // bar; 0 without a box
  double density = 0;    // g/cm³; 0 without a box
  double conserved = 0;  // kcal/mol: the total energy and what baths hold, which the integrator conserves
  Box box;               // 0 in a vacuum
  double potential() const {
    double sum = 0;
    for (const double t : term) sum += t;
    return sum;
  }
  double total() const { return potential() + kinetic; }
  double operator[](Term t) const { return term[static_cast<std::size_t>(t)]; }
};

}  // namespace tessera::md
