// Declares the fast pair kernel: 4 × 4 clusters in single precision, with forces summed in 32-bit fixed point across
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/ewald_fit.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/pair/pair_list.h"
#include "tessera/md/pair/potentials/lookup_table.h"

namespace tessera::md::pair {

/// The kernel's unit of force is 2⁻¹⁸ kcal/mol/Å; the range is ±8192.
inline constexpr double pair_force_unit = 1.0 / 262144.0;

/// Holds a cluster's forces in the kernel's unit, in one cache line: x, z and y of its four atoms, and scratch space
/// for the kernel.
struct alignas(64) ClusterForces {
  std::int32_t value[16];
};
inline constexpr std::size_t force_offset[3] = {0, 8, 4};  // of x, y and z

/// Sums, for each neighbour cell (PairList::shifts), the forces on j-clusters that are seen there. The virial needs
/// them, because coordinates are relative to cells (single_sum_virial.h).
class CellForces {
 public:
  /// Returns the sums of the kernel, which overflow unless they are moved to the totals after a few rows.
  ClusterForces* recent() { return recent_.data(); }
  void move_recent_to_totals() {
    for (std::size_t cell = 0; cell < n_neighbour_cells; ++cell) {
      for (std::size_t d = 0; d < 3; ++d)
        for (std::size_t k = 0; k < 4; ++k) total_[cell][d] += recent_[cell].value[force_offset[d] + k];
      recent_[cell] = {};
    }
  }
  /// Returns the force on all j-clusters seen in a neighbour cell, in pair_force_unit.
  const std::array<std::int64_t, 3>& total(std::size_t cell) const { return total_[cell]; }

 private:
  std::array<ClusterForces, n_neighbour_cells> recent_{};
  std::array<std::array<std::int64_t, 3>, n_neighbour_cells> total_{};
};

/// A pair with a greater F/r than this might overflow the kernel's integers; in their units it is 250 kcal/mol/Å².
/// Contacts in a sound system stay below 100. The limit leaves room for sixteen pairs 2 Å apart that push in one
/// direction, more than fit on one side of an atom.
inline constexpr float clash_force_over_r = 250 * 262144.0f;

/// This is the degree of the Ewald polynomials that hold for all distances. For the force of settings up to an α·cutoff
/// of about 3.2 (a tolerance of 1e-5) there are shorter ones by piece.
inline constexpr int ewald_degree_high = 16;
/// This is enough for β·cutoff up to 3.7 (a tolerance of 1e-4).
inline constexpr int dispersion_degree = 16;

/// Names a cluster pair that the kernel left out, which the caller computes in double precision.
struct Clash {
  std::int32_t i_cluster;
  MaskedEntry entry;
};

enum class KernelRule : int { lorentz_berthelot, geometric };

/// The force's Ewald correction piece by piece: all pieces twice, as many as the widest registers have lanes.
using EwaldPieces = float[PiecewisePolynomial::degree + 1][2 * PiecewisePolynomial::n_pieces];

/// Everything the kernel reads besides the list and the clusters. Distances are in Å, forces in pair_force_unit.
struct KernelConstants {
  LjModifier lj;
  Electrostatics electrostatics;
  KernelRule rule;
  float range2;      // all interactions are zero beyond it
  float lj_cutoff2;  // Lennard-Jones is zero beyond it
  bool has_two_cutoffs;
  bool multiplies_for_reciprocals;  // of plain entries, where the instruction set can; changes no bit
  float inverse_cutoff2;
  float switch_distance, switch2;
  float switch_inverse_width;                       // 1/(r_c²−r_s²) or 1/(r_c−r_s)
  float k12, k6, inverse_cutoff6, inverse_cutoff3;  // force-switch
  float k12_over_cutoff6, k6_over_cutoff3;          // force-switch; zero without a switching range
  float shift12, shift6;                            // force-switch below r_s: 1/(r_s⁶r_c⁶), 1/(r_s³r_c³)
  float a12, b12, c12, a6, b6, c6;                  // force-switch-gromacs
  float coulomb_switch2, coulomb_inverse_width;     // electrostatics force-switch
  float coulomb_below, coulomb_a, coulomb_b, coulomb_c, coulomb_d, cutoff;
  // The Ewald correction is given by polynomials in t = r²·scale − 1, with even and odd powers apart:
  // F·r: erf(αr)/r − 2α/√π e^(−α²r²); energy: erf(αr)/r.
  float ewald_scale;
  float ewald_force[ewald_degree_high + 1];
  float ewald_energy[ewald_degree_high + 1];
  bool needs_high_degree;
  // What the direct sum of LjModifier::pme adds, by polynomials in t = r²·scale − 1, for 6C = 1: F·r, and the energy
  // less its value at the cut-off.
  float dispersion_scale;
  float dispersion_force[dispersion_degree + 1], dispersion_energy[ewald_degree_high + 1];
  // The force's correction is also given piecewise in r².
  alignas(64) EwaldPieces ewald_pieces;
  float ewald_pieces_scale;
  // These are 12A and 6B in force units, (types × types), of pairs of types with parameters of their own.
  const float* table_12a;
  const float* table_6b;
  std::int32_t n_types;
  // These are the members of the LookupTable.
  Lookup lookup;
  std::int32_t lookup_first, lookup_last;
  const float* lookup_force;
  const float* lookup_energy;
  const std::int32_t* lookup_begin;
};

/// Tells whether loops that are compiled for a Lennard-Jones modifier serve these settings, unless energies are wanted.
inline bool are_common(const KernelConstants& k) {
  return k.electrostatics == Electrostatics::pme && k.rule == KernelRule::lorentz_berthelot && !k.needs_high_degree;
}

/// Holds the constants for given settings, and the polynomials' greatest relative error in force (for reports).
struct PreparedConstants {
  KernelConstants constants{};
  double ewald_force_error = 0;
};
PreparedConstants prepare_constants(const PairSettings& settings, KernelRule rule);

/// Describes a range of rows of a part of the list.
struct RowRange {
  std::size_t begin, end;
};

/// Runs some rows of one part and adds forces (by cluster) and, if `energies` is given, lj and coulomb_real energies.
/// If `cell_forces` is given, adds what the virial needs beside the forces; energies need it too. Excluded pairs
/// contribute forces, but no energies. Cluster pairs with a clash are left out and listed in `clashes`.
void run_cluster_kernel(const KernelConstants& constants, const PairList& list, const PairListPart& part,
                        const RowRange& rows, const ClusterData* clusters, const std::int32_t* type,
                        ClusterForces* force, CellForces* cell_forces, EnergyVirial* energies,
                        std::vector<Clash>& clashes);

}  // namespace tessera::md::pair
