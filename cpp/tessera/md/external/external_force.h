// A force that comes from outside the force field: a function is told where some atoms are, and returns what acts on
// them. Python's add_force makes them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/box.h"

namespace tessera::md::external {

/// What the function is told, by atom.
struct ExternalAtoms {
  std::int64_t step = 0;  // of these positions
  Box box;                // 0 in a vacuum
  std::span<const std::int64_t> id;
  std::span<const Vec3> position;  // Å, in the box, which spans −½ to ½ of its vectors, or anywhere in a vacuum
};

/// What the function returns. Energies and virials are sums of the parts listed here. The parts are added as integers:
/// a function that returns a part for each atom has the same sums, to the last bit, on any number of ranks.
struct ExternalResult {
  std::vector<Vec3> force;                    // by atom, kcal/mol/Å
  std::vector<double> energy;                 // parts, kcal/mol
  std::vector<std::array<double, 6>> virial;  // parts of Σ r⊗F: xx yy zz xy xz yz, kcal/mol
};

struct ExternalForce {
  /// The ids of the atoms that the function is told of, in this order, the same on every rank. Where there are none,
  /// each rank's function is told of the atoms that the rank owns, in any order.
  std::optional<std::vector<std::int64_t>> atoms;
  /// Called on every rank in every step that computes forces, in the same order; it may be collective. Of a function
  /// with `atoms`, every rank takes the forces on its own atoms, and the root alone the energy and the virial.
  std::function<ExternalResult(const ExternalAtoms&)> function;
};

using ExternalForces = std::vector<std::shared_ptr<const ExternalForce>>;

}  // namespace tessera::md::external
