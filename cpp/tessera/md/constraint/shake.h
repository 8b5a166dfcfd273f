// SHAKE and RATTLE for a small group of atoms joined by constraints, all of them solved at once.
//
// Formula: rᵢ ← rᵢ + Σ_k ± λ_k s_k/mᵢ with s_k the constrained vectors before the step, |r_k|² = d_k²; Newton on λ.
//   Velocities: vᵢ ← vᵢ + Σ_k ± μ_k r_k/mᵢ, r_k·v_k = 0, linear in μ
// Source: Ryckaert, Ciccotti, Berendsen, J. Comput. Phys. 23, 327 (1977), 10.1016/0021-9991(77)90098-5; solved as a
//   matrix: Kräutler, van Gunsteren, Hünenberger, J. Comput. Chem. 22, 501 (2001),
//   10.1002/1096-987X(20010415)22:5<501::AID-JCC1021>3.0.CO;2-V; velocities: Andersen, J. Comput. Phys. 52, 24 (1983),
//   10.1016/0021-9991(83)90014-1
// Units: Å, amu; velocities any
// Cost: three or four Newton steps of n³/3 + 6n² multiply-adds for n constraints (the error squares each time, where
//   SHAKE one bond after another takes tens of sweeps to 1e-10)
// One group at a time here: the start of a run, and the oracle of shake-inl.h, which has one a lane.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tessera/base/vec3.h"

namespace tessera::md::constraint {

inline constexpr int max_group_atoms = 8;
inline constexpr int max_group_constraints = 12;

/// Made by make_constraint_group.
struct ConstraintGroup {
  int n_atoms = 0;
  int n_constraints = 0;
  std::array<std::array<std::int32_t, 2>, max_group_constraints> pair{};  // indices into the group's atoms
  std::array<double, max_group_constraints> distance2{};                  // Å²
  std::array<double, max_group_atoms> inverse_mass{};                     // amu⁻¹

  /// How an impulse along constraint l moves the vector of constraint k, amu⁻¹: (n,n) [k·n + l].
  std::array<double, max_group_constraints * max_group_constraints> coupling{};

  friend bool operator==(const ConstraintGroup&, const ConstraintGroup&) = default;
};

/// `distance` Å, `mass` amu. Throws InputError where a number is not positive or a group is too large.
ConstraintGroup make_constraint_group(std::span<const std::array<std::int32_t, 2>> pair,
                                      std::span<const double> distance, std::span<const double> mass);

/// `before`: positions that satisfy the constraints; `after`: the unconstrained new ones in the same frame, corrected
/// in place to a relative error of distance ≤ `tolerance`. False, with `after` left alone, where Newton's method does
/// not get there.
[[nodiscard]] bool shake_positions(const ConstraintGroup&, std::span<const Vec3> before, std::span<Vec3> after,
                                   double tolerance = 1e-10);

/// Takes from the velocities what would change the constrained distances. False, with `velocity` left alone, where the
/// constraints contradict or repeat each other.
[[nodiscard]] bool rattle_velocities(const ConstraintGroup&, std::span<const Vec3> position, std::span<Vec3> velocity);

}  // namespace tessera::md::constraint
