// Implements SHAKE and RATTLE for a small group of atoms joined by constraints, all of which are solved at once.
//
// Formula: rᵢ ← rᵢ + Σ_k ± λ_k s_k/mᵢ with s_k the constrained vectors before the step, |r_k|² = d_k²; Newton's method
//   on λ.
// Velocities: vᵢ ← vᵢ + Σ_k ± μ_k r_k/mᵢ, r_k·v_k = 0, linear in μ.
// Source: Ryckaert, Ciccotti, Berendsen, J. Comput. Phys. 23, 327 (1977), 10.1016/0021-9991(77)90098-5; solved as a
//   matrix: Kräutler, van Gunsteren, Hünenberger, J. Comput. Chem. 22, 501 (2001),
//   10.1002/1096-987X(20010415)22:5<501::AID-JCC1021>3.0.CO;2-V; velocities: Andersen, J. Comput. Phys. 52, 24 (1983),
//   10.1016/0021-9991(83)90014-1.
// Units: Å, amu; velocities in any unit.
// Cost: three or four Newton iterations of n³/3 + 6n² multiply-adds for n constraints. The error is squared each time,
//   whereas SHAKE one bond after another takes tens of iterations to 1e-10.
// This version computes one group at a time. The start of a run uses it, and tests compare shake-inl.h with it, which
// has one group per lane.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tessera/base/vec3.h"

namespace tessera::md::constraint {

inline constexpr int max_group_atoms = 8;
inline constexpr int max_group_constraints = 12;

/// Holds a group of constraints, as make_constraint_group() prepares it.
struct ConstraintGroup {
  int n_atoms = 0;
  int n_constraints = 0;
  std::array<std::array<std::int32_t, 2>, max_group_constraints> pair{};  // indices into the group's atoms
  std::array<double, max_group_constraints> distance2{};                  // Å²
  std::array<double, max_group_atoms> inverse_mass{};                     // amu⁻¹

  /// An impulse along constraint l changes the vector of constraint k by this factor, amu⁻¹: (n,n) [k·n + l].
  std::array<double, max_group_constraints * max_group_constraints> coupling{};

  friend bool operator==(const ConstraintGroup&, const ConstraintGroup&) = default;
};

/// Takes `distance` in Å and `mass` in amu. Throws InputError if a number is not positive or a group is too large.
ConstraintGroup make_constraint_group(std::span<const std::array<std::int32_t, 2>> pair,
                                      std::span<const double> distance, std::span<const double> mass);

/// Corrects the unconstrained new positions `after` in place to a relative error of distance ≤ `tolerance`. `before`
/// holds positions that satisfy the constraints, in the same frame. Returns false and leaves `after` unchanged if
/// Newton's method does not converge.
[[nodiscard]] bool shake_positions(const ConstraintGroup&, std::span<const Vec3> before, std::span<Vec3> after,
                                   double tolerance = 1e-10);

/// Removes the part of the velocities that would change the constrained distances. Returns false and leaves `velocity`
/// unchanged if the constraints contradict or repeat each other.
[[nodiscard]] bool rattle_velocities(const ConstraintGroup&, std::span<const Vec3> position, std::span<Vec3> velocity);

}  // namespace tessera::md::constraint
