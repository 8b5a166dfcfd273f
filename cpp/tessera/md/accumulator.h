// What force routines add to: forces of local atoms, energies by term, the virial; all in fixed point, one accumulator
// a thread, so that the sum does not depend on threads, ranks or order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/base/fixed_point.h"

namespace tessera::md {

/// Energy terms by the names that people see, in the order of reports.
enum class Term : int {
  bond,
  angle,
  urey_bradley,
  dihedral,
  improper,
  cmap,
  lj,
  lj_14,
  lj_tail,
  coulomb_real,
  coulomb_14,
  coulomb_reciprocal,
  coulomb_exclusion,
  coulomb_self,
  coulomb_background
};
inline constexpr int n_terms = 15;
inline constexpr std::array<std::string_view, n_terms> term_names = {"bond",
                                                                     "angle",
                                                                     "urey_bradley",
                                                                     "dihedral",
                                                                     "improper",
                                                                     "cmap",
                                                                     "lj",
                                                                     "lj_14",
                                                                     "lj_tail",
                                                                     "coulomb_real",
                                                                     "coulomb_14",
                                                                     "coulomb_reciprocal",
                                                                     "coulomb_exclusion",
                                                                     "coulomb_self",
                                                                     "coulomb_background"};

/// Fixed-point energies and virial: W = Σ r⊗F over interactions, components xx yy zz xy xz yz (xy: r_x F_y); for a
/// pair, r = r_i − r_j and F the force on i. Pressure = (2K + tr W)/3V.
struct EnergyVirial {
  std::array<std::int64_t, n_terms> energy{};  // units of energy_unit
  std::array<std::int64_t, 6> virial{};        // units of energy_unit

  void add(Term term, double value) { add_fixed(energy[static_cast<std::size_t>(term)], to_fixed(value, energy_unit)); }
  void add_virial(const Vec3& r, const Vec3& f) {
    add_fixed(virial[0], to_fixed(r.x * f.x, energy_unit));
    add_fixed(virial[1], to_fixed(r.y * f.y, energy_unit));
    add_fixed(virial[2], to_fixed(r.z * f.z, energy_unit));
    add_fixed(virial[3], to_fixed(r.x * f.y, energy_unit));
    add_fixed(virial[4], to_fixed(r.x * f.z, energy_unit));
    add_fixed(virial[5], to_fixed(r.y * f.z, energy_unit));
  }
  void merge(const EnergyVirial& other) {
    for (std::size_t i = 0; i < energy.size(); ++i) add_fixed(energy[i], other.energy[i]);
    for (std::size_t i = 0; i < virial.size(); ++i) add_fixed(virial[i], other.virial[i]);
  }
};

/// One thread's share: forces of every local slot (owned and halo), and energies where asked for.
struct Accumulator {
  std::span<std::int64_t> force;     // (3·slots) units of force_unit, x y z of each slot
  EnergyVirial* energies = nullptr;  // null: forces only

  void add_force(std::int32_t slot, const Vec3& f) { add_fixed_force(&force[3 * static_cast<std::size_t>(slot)], f); }
};

}  // namespace tessera::md
