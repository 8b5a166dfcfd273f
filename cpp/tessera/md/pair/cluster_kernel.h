// The fast pair kernel: 4 × 4 clusters in single precision, forces summed in 32-bit fixed point across them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/ewald_fit.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/pair/pair_list.h"

namespace tessera::md::pair {

/// Units of the kernel's forces: 2⁻¹⁸ kcal/mol/Å, range ±8192.
inline constexpr double pair_force_unit = 1.0 / 262144.0;

/// A cluster's forces in the kernel's unit, one cache line: x, z and y of its four atoms, and room that the kernel
/// uses.
struct alignas(64) ClusterForces {
  std::int32_t value[16];
};
inline constexpr std::size_t force_offset[3] = {0, 8, 4};  // of x, y and z

/// F/r beyond which a pair is too much for the kernel's integers, in its units: 250 kcal/mol/Å². Healthy contacts stay
/// below 100. Sixteen pairs 2 Å apart that push one way just fit, more than find room on one side of an atom.
inline constexpr float clash_force_over_r = 250 * 262144.0f;

/// Degree of the Ewald polynomials: the lower one serves α·cutoff up to about 3.2 (a tolerance of 1e-5), the higher one
/// whatever people ask for.
inline constexpr int ewald_degree = 12, ewald_degree_high = 16;

/// A cluster pair that the kernel left out, for the caller to do in double precision.
struct Clash {
  std::int32_t i_cluster;
  MaskedEntry entry;
};

enum class KernelRule : int { lorentz_berthelot, geometric };

/// Everything the kernel reads besides the list and the clusters. Distances in Å, forces in pair_force_unit.
struct KernelConstants {
  LjModifier lj;
  Electrostatics electrostatics;
  KernelRule rule;
  float range2;      // beyond it nothing acts
  float lj_cutoff2;  // beyond it Lennard-Jones does not
  bool has_two_cutoffs;
  float inverse_cutoff2;
  float switch_distance, switch2;
  float switch_inverse_width;                       // 1/(r_c²−r_s²) or 1/(r_c−r_s)
  float k12, k6, inverse_cutoff6, inverse_cutoff3;  // force-switch
  float k12_over_cutoff6, k6_over_cutoff3;          // force-switch; zero without a width
  float shift12, shift6;                            // force-switch below r_s: 1/(r_s⁶r_c⁶), 1/(r_s³r_c³)
  float a12, b12, c12, a6, b6, c6;                  // force-switch-gromacs
  float coulomb_switch2, coulomb_inverse_width;     // electrostatics force-switch
  float coulomb_below, coulomb_a, coulomb_b, coulomb_c, coulomb_d, cutoff;
  // Ewald correction by polynomials in t = r²·scale − 1, even and odd powers apart:
  // F·r: erf(αr)/r − 2α/√π e^(−α²r²); energy: erf(αr)/r.
  float ewald_scale;
  float ewald_force[ewald_degree_high + 1];  // of the lower degree: zeros at the end
  float ewald_energy[ewald_degree_high + 1];
  bool needs_high_degree;
  // The force's correction by pieces of r², each piece in its lane: where registers have sixteen.
  alignas(64) float ewald_pieces[PiecewisePolynomial::degree + 1][PiecewisePolynomial::n_pieces];
  float ewald_pieces_scale;
  // Pairs of types with parameters of their own: 12A and 6B in force units, (types × types).
  const float* table_12a;
  const float* table_6b;
  std::int32_t n_types;
};

/// The constants of these settings, and the polynomials' greatest relative error in force (for reports).
struct PreparedConstants {
  KernelConstants constants{};
  double ewald_force_error = 0;
};
PreparedConstants prepare_constants(const PairSettings& settings, KernelRule rule);

/// Rows of a part of the list.
struct RowRange {
  std::size_t begin, end;
};

/// Runs some rows of one part, adding forces (by cluster) and, where `energies` is given, lj and coulomb_real energies
/// and the virial. Excluded pairs give forces and virial, not energies. Cluster pairs with a clash are left out and
/// named in `clashes`.
void run_cluster_kernel(const KernelConstants& constants, const PairList& list, const PairListPart& part,
                        const RowRange& rows, const ClusterData* clusters, const std::int32_t* type,
                        ClusterForces* force, EnergyVirial* energies, std::vector<Clash>& clashes);

}  // namespace tessera::md::pair
