// Computes pair forces between 4-atom clusters, one cluster pair in 16 lanes (one AVX-512 register, two AVX2 registers,
// four of 128 bits). Block i of four lanes is i-atom i against the four j-atoms.
// Formulas: functions.h. Coulomb's 1/r − erf(αr)/r is computed from √r², 1/r² and a polynomial in r²: one of eight
//   short ones, whose coefficients are looked up in registers, or one for all distances.
// Units: Å; forces in 2⁻¹⁸ kcal/mol/Å (charges and ε are scaled beforehand, so that no conversion is needed).
// Order: sums are in floating point within a cluster pair and in fixed point beyond, so that the result depends neither
//   on ranks and threads nor on the order of the list.
// Cost: about 70 instructions for 16 pairs.
#include "tessera/md/pair/clusters/cluster_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/pair/clusters/cluster_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/pair/clusters/cluster_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

/// Returns the loop for these settings. All do the same operations, so that forces are the same bits.
LoopFunction* ChosenLoop(const KernelConstants& k, bool with_cell_forces, bool with_energies) {
  const bool is_common = are_common(k);
  if (k.lookup == Lookup::all) return LookupLoop<Lookup::all>(k, is_common, with_cell_forces, with_energies);
  if (k.lookup == Lookup::some) return LookupLoop<Lookup::some>(k, is_common, with_cell_forces, with_energies);
  if (with_energies) return RunLoop<Runtime, Beside::energies>;  // energies are rare, so one loop serves all cases
  if constexpr (has_fixed_loops) {
    if (is_common) switch (k.lj) {
        case LjModifier::cut:
          return FixedLoop<LjModifier::cut>(k.has_two_cutoffs, with_cell_forces);
        case LjModifier::force_switch:
          return FixedLoop<LjModifier::force_switch>(k.has_two_cutoffs, with_cell_forces);
        case LjModifier::potential_switch:
          return FixedLoop<LjModifier::potential_switch>(k.has_two_cutoffs, with_cell_forces);
        case LjModifier::pme:
          return FixedLoop<LjModifier::pme>(k.has_two_cutoffs, with_cell_forces);
        default:
          break;
      }
  }
  return with_cell_forces ? RunLoop<Runtime, Beside::virial> : RunLoop<Runtime, Beside::nothing>;
}

void RunRows(const KernelConstants& k, const PairList& list, const PairListPart& part, const RowRange& rows,
             const ClusterData* clusters, const std::int32_t* type, ClusterForces* force, CellForces* cell_forces,
             EnergyVirial* energies, std::vector<Clash>& clashes) {
  [[maybe_unused]] const FlushDenormals flush;
  const Loop loop = {list.shifts.data(), clusters, force, cell_forces == nullptr ? nullptr : cell_forces->recent()};
  ChosenLoop(k, cell_forces != nullptr, energies != nullptr)(k, part, rows, type, loop, cell_forces, energies, clashes);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>

#include "tessera/base/math/elementary.h"

namespace tessera::md::pair {

HWY_EXPORT(RunRows);

void run_cluster_kernel(const KernelConstants& constants, const PairList& list, const PairListPart& part,
                        const RowRange& rows, const ClusterData* clusters, const std::int32_t* type,
                        ClusterForces* force, CellForces* cell_forces, EnergyVirial* energies,
                        std::vector<Clash>& clashes) {
  HWY_DYNAMIC_DISPATCH(RunRows)
  (constants, list, part, rows, clusters, type, force, cell_forces, energies, clashes);
}

namespace {

/// Returns whether the kernel for AVX-512 is faster with multiplications in place of divisions, as measured on an Intel
/// processor. On AMD's, llvm-mca predicts the opposite (docs/design/bits.md#one-sequence-of-operations).
bool should_multiply_for_reciprocals() {
#if HWY_ARCH_X86
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

}  // namespace

PreparedConstants prepare_constants(const PairSettings& settings, KernelRule rule) {
  PreparedConstants prepared;
  auto& c = prepared.constants;
  const double rc = settings.cutoff, rs = settings.switch_distance, rc3 = rc * rc * rc, rs3 = rs * rs * rs;
  const auto f = [](double value) { return static_cast<float>(value); };
  c.lj = settings.lj;
  // A switch without width is the plain function, shifted if the modifier shifts.
  if (rs >= rc && (c.lj == LjModifier::potential_switch || c.lj == LjModifier::quintic_switch)) c.lj = LjModifier::cut;
  c.electrostatics = settings.electrostatics;
  c.rule = rule;
  c.cutoff = f(rc);
  const double range = settings.range();
  c.range2 = f(range * range);
  c.lj_cutoff2 = f(rc * rc);
  c.has_two_cutoffs = range > rc;
  c.multiplies_for_reciprocals = should_multiply_for_reciprocals();
  c.inverse_cutoff2 = f(1 / (rc * rc));
  c.switch_distance = f(rs);
  c.switch2 = f(rs * rs);
  if (c.lj == LjModifier::potential_switch) c.switch_inverse_width = f(1 / (rc * rc - rs * rs));
  if (c.lj == LjModifier::quintic_switch) c.switch_inverse_width = f(1 / (rc - rs));
  c.k12 = c.k6 = 1;
  if (rs < rc) {
    c.k12 = f(rc3 * rc3 / (rc3 * rc3 - rs3 * rs3));
    c.k6 = f(rc3 / (rc3 - rs3));
    c.k12_over_cutoff6 = f(1 / (rc3 * rc3 - rs3 * rs3));
    c.k6_over_cutoff3 = f(1 / (rc3 - rs3));
  }
  c.inverse_cutoff6 = f(1 / (rc3 * rc3));
  c.inverse_cutoff3 = f(1 / rc3);
  if (rs > 0) {
    c.shift12 = f(1 / (rs3 * rs3 * rc3 * rc3));
    c.shift6 = f(1 / (rs3 * rc3));
  }
  if (c.lj == LjModifier::force_switch_gromacs) {
    const auto power = [&](double p, float& a, float& b, float& shift) {
      if (rs >= rc) {
        shift = f(math::pow(rc, -p));
        return;
      }
      const double w = rc - rs;
      const double qa = -p * ((p + 4) * rc - (p + 1) * rs) / (math::pow(rc, p + 2) * w * w);
      const double qb = p * ((p + 3) * rc - (p + 1) * rs) / (math::pow(rc, p + 2) * w * w * w);
      a = f(qa);
      b = f(qb);
      shift = f(math::pow(rc, -p) - qa / 3 * w * w * w - qb / 4 * w * w * w * w);
    };
    power(12, c.a12, c.b12, c.c12);
    power(6, c.a6, c.b6, c.c6);
  }
  if (settings.electrostatics == Electrostatics::force_switch) {
    const double cs = std::min(settings.coulomb_switch, rc * (1 - 1e-9));
    const double rc2 = rc * rc, cs2 = cs * cs, gamma = math::pow(rc2 - cs2, 3);
    c.coulomb_switch2 = f(cs2);
    c.coulomb_inverse_width = f(1 / (rc2 - cs2));
    c.coulomb_below = f(8 * (cs2 * rc2 * (rc - cs) - (math::pow(rc, 5) - math::pow(cs, 5)) / 5) / gamma);
    c.coulomb_a = f(rc2 * rc2 * (rc2 - 3 * cs2) / gamma);
    c.coulomb_b = f(6 * rc2 * cs2 / gamma);
    c.coulomb_c = f(-(rc2 + cs2) / gamma);
    c.coulomb_d = f(2 / (5 * gamma));
  }
  if (settings.lj == LjModifier::pme) {
    c.dispersion_scale = f(2 / (rc * rc));
    const auto force = fit_dispersion_force(settings.lj_alpha, rc, dispersion_degree);
    const auto energy = fit_dispersion_energy(settings.lj_alpha, rc, ewald_degree_high);
    std::transform(force.coefficient.begin(), force.coefficient.end(), c.dispersion_force, f);
    std::transform(energy.coefficient.begin(), energy.coefficient.end(), c.dispersion_energy, f);
  }
  c.ewald_scale = f(2 / (range * range));
  if (settings.electrostatics == Electrostatics::pme) {
    constexpr double accepted = 2e-6;  // below the errors of single precision
    const auto force = fit_ewald_force(settings.alpha, range, ewald_degree_high);
    const auto energy = fit_ewald_energy(settings.alpha, range, ewald_degree_high);
    for (std::size_t i = 0; i < force.coefficient.size(); ++i) c.ewald_force[i] = f(force.coefficient[i]);
    for (std::size_t i = 0; i < energy.coefficient.size(); ++i) c.ewald_energy[i] = f(energy.coefficient[i]);
    const auto pieces = fit_ewald_force_piecewise(settings.alpha, range);
    c.ewald_pieces_scale = f(pieces.scale);
    for (std::size_t i = 0; i < pieces.coefficient.size(); ++i)
      for (auto* copy : {c.ewald_pieces[i], c.ewald_pieces[i] + PiecewisePolynomial::n_pieces})
        std::transform(pieces.coefficient[i].begin(), pieces.coefficient[i].end(), copy, f);
    c.needs_high_degree = pieces.error > accepted;
    prepared.ewald_force_error = c.needs_high_degree ? force.error : pieces.error;
  }
  return prepared;
}

}  // namespace tessera::md::pair
#endif
