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
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "tessera/base/index.h"
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

// What follows is one text for processors and devices.

/// Solves matrix·x = right by elimination with row exchanges, in place. N > 0: the size is known to the compiler.
template <int N>
constexpr bool solve(double* matrix, double* right, int size) {
  const int n = N > 0 ? N : size;
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::abs(matrix[i * n + k]) > std::abs(matrix[best * n + k])) best = i;
    }
    if (best != k) {
      for (int j = k; j < n; ++j) std::swap(matrix[k * n + j], matrix[best * n + j]);
      std::swap(right[k], right[best]);
    }
    const double pivot = matrix[k * n + k];
    if (!(std::abs(pivot) > 0)) return false;  // catches NaN too
    const double inverse = 1 / pivot;
    matrix[k * n + k] = inverse;
    for (int i = k + 1; i < n; ++i) {
      const double factor = matrix[i * n + k] * inverse;
      for (int j = k + 1; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
      right[i] -= factor * right[k];
    }
  }
  for (int k = n; k-- > 0;) {
    double sum = right[k];
    for (int j = k + 1; j < n; ++j) sum -= matrix[k * n + j] * right[j];
    right[k] = sum * matrix[k * n + k];
  }
  return true;
}

/// Computes vectors[k] = value[i] − value[j] of constraint k.
constexpr void differences(const ConstraintGroup& group, std::span<const Vec3> value, int n, Vec3* vectors) {
  for (int k = 0; k < n; ++k) {
    const auto& pair = group.pair[at(k)];
    vectors[k] = value[at(pair[0])] - value[at(pair[1])];
  }
}

/// Applies value[i] += w_i·impulse and value[j] −= w_j·impulse with impulse = strength_k·direction_k.
constexpr void apply(const ConstraintGroup& group, const double* strength, const Vec3* direction, int n,
                     std::span<Vec3> value) {
  for (int k = 0; k < n; ++k) {
    const auto& pair = group.pair[at(k)];
    const Vec3 impulse = strength[k] * direction[k];
    value[at(pair[0])] += group.inverse_mass[at(pair[0])] * impulse;
    value[at(pair[1])] -= group.inverse_mass[at(pair[1])] * impulse;
  }
}

/// Does what shake_positions() does with N constraints, or with any number where N is 0.
template <int N>
constexpr bool shake(const ConstraintGroup& group, std::span<const Vec3> before, std::span<Vec3> after,
                     double tolerance) {
  constexpr int capacity = N > 0 ? N : max_group_constraints;
  constexpr int max_iterations = 30;  // 3 or 4 suffice; a molecule that needs more has blown up
  const int n = N > 0 ? N : group.n_constraints;
  const double* const coupling = group.coupling.data();
  Vec3 s[capacity], start[capacity], r[capacity];
  double lambda[capacity] = {};
  differences(group, before, n, s);
  differences(group, after, n, start);
  for (int k = 0; k < n; ++k) r[k] = start[k];

  for (int iteration = 0; iteration < max_iterations; ++iteration) {
    double step[capacity], matrix[capacity * capacity];
    bool done = true;
    for (int k = 0; k < n; ++k) {
      step[k] = 0.5 * (group.distance2[at(k)] - norm2(r[k]));
      if (!(std::abs(step[k]) <= tolerance * group.distance2[at(k)])) done = false;
    }
    if (done) {
      apply(group, lambda, s, n, after);
      return true;
    }
    for (int k = 0; k < n; ++k) {
      for (int l = 0; l < n; ++l) matrix[k * n + l] = coupling[k * n + l] * dot(r[k], s[l]);
    }
    if (!solve<N>(matrix, step, n)) return false;
    for (int k = 0; k < n; ++k) lambda[k] += step[k];
    // Positions are computed from the initial ones each time, so that no error adds up over iterations.
    for (int k = 0; k < n; ++k) {
      r[k] = start[k];
      for (int l = 0; l < n; ++l) r[k] += (coupling[k * n + l] * lambda[l]) * s[l];
    }
  }
  return false;
}

/// Corrects the unconstrained new positions `after` in place to a relative error of distance ≤ `tolerance`. `before`
/// holds positions that satisfy the constraints, in the same frame. Returns false and leaves `after` unchanged if
/// Newton's method does not converge.
[[nodiscard]] bool shake_positions(const ConstraintGroup&, std::span<const Vec3> before, std::span<Vec3> after,
                                   double tolerance = 1e-10);

/// Removes the part of the velocities that would change the constrained distances. Returns false and leaves `velocity`
/// unchanged if the constraints contradict or repeat each other.
[[nodiscard]] bool rattle_velocities(const ConstraintGroup&, std::span<const Vec3> position, std::span<Vec3> velocity);

}  // namespace tessera::md::constraint
