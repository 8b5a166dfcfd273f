// Implements matrix SHAKE and RATTLE; formula and sources are in shake.h.
#include "tessera/md/constraint/shake.h"

#include <cmath>
#include <string>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::md::constraint {
namespace {

// Solves matrix·x = right by elimination with row exchanges, in place. N > 0: the size is known to the compiler.
template <int N>
bool solve(double* matrix, double* right, int size) {
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

// Computes vectors[k] = value[i] − value[j] of constraint k.
void differences(const ConstraintGroup& group, std::span<const Vec3> value, int n, Vec3* vectors) {
  for (int k = 0; k < n; ++k) {
    const auto& pair = group.pair[at(k)];
    vectors[k] = value[at(pair[0])] - value[at(pair[1])];
  }
}

// Applies value[i] += w_i·impulse and value[j] −= w_j·impulse with impulse = strength_k·direction_k.
void apply(const ConstraintGroup& group, const double* strength, const Vec3* direction, int n, std::span<Vec3> value) {
  for (int k = 0; k < n; ++k) {
    const auto& pair = group.pair[at(k)];
    const Vec3 impulse = strength[k] * direction[k];
    value[at(pair[0])] += group.inverse_mass[at(pair[0])] * impulse;
    value[at(pair[1])] -= group.inverse_mass[at(pair[1])] * impulse;
  }
}

template <int N>
bool shake(const ConstraintGroup& group, std::span<const Vec3> before, std::span<Vec3> after, double tolerance) {
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

template <int N>
bool rattle(const ConstraintGroup& group, std::span<const Vec3> position, std::span<Vec3> velocity) {
  constexpr int capacity = N > 0 ? N : max_group_constraints;
  const int n = N > 0 ? N : group.n_constraints;
  Vec3 r[capacity], v[capacity];
  double mu[capacity], matrix[capacity * capacity];
  differences(group, position, n, r);
  differences(group, velocity, n, v);
  for (int k = 0; k < n; ++k) {
    mu[k] = -dot(r[k], v[k]);
    for (int l = 0; l < n; ++l) matrix[k * n + l] = group.coupling[at(k * n + l)] * dot(r[k], r[l]);
  }
  if (!solve<N>(matrix, mu, n)) return false;
  for (int k = 0; k < n; ++k) {
    if (!std::isfinite(mu[k])) return false;
  }
  apply(group, mu, r, n, velocity);
  return true;
}

}  // namespace

ConstraintGroup make_constraint_group(std::span<const std::array<std::int32_t, 2>> pair,
                                      std::span<const double> distance, std::span<const double> mass) {
  TESSERA_CHECK(pair.size() == distance.size());
  if (mass.size() > max_group_atoms || pair.size() > max_group_constraints) {
    throw InputError("constraints: a group of " + std::to_string(mass.size()) + " atoms and " +
                     std::to_string(pair.size()) + " constraints, expected at most " + std::to_string(max_group_atoms) +
                     " and " + std::to_string(max_group_constraints));
  }
  ConstraintGroup group;
  group.n_atoms = static_cast<int>(mass.size());
  group.n_constraints = static_cast<int>(pair.size());
  for (std::size_t i = 0; i < mass.size(); ++i) {
    if (!(mass[i] > 0) || !std::isfinite(mass[i])) {
      throw InputError("constraints: a mass of " + std::to_string(mass[i]) + " amu, expected a positive number");
    }
    group.inverse_mass[i] = 1 / mass[i];
  }
  for (std::size_t k = 0; k < pair.size(); ++k) {
    const auto& [i, j] = pair[k];
    TESSERA_CHECK(i >= 0 && j >= 0 && i < group.n_atoms && j < group.n_atoms && i != j);
    if (!(distance[k] > 0) || !std::isfinite(distance[k])) {
      throw InputError("constraints: a length of " + std::to_string(distance[k]) + " A, expected a positive number");
    }
    group.pair[k] = pair[k];
    group.distance2[k] = distance[k] * distance[k];
  }
  for (std::size_t k = 0; k < pair.size(); ++k) {
    for (std::size_t l = 0; l < pair.size(); ++l) {
      double& coupling = group.coupling[k * pair.size() + l];
      for (std::size_t end_k = 0; end_k < 2; ++end_k) {
        for (std::size_t end_l = 0; end_l < 2; ++end_l) {
          if (pair[k][end_k] != pair[l][end_l]) continue;
          const double w = group.inverse_mass[at(pair[k][end_k])];
          coupling += end_k == end_l ? w : -w;
        }
      }
    }
  }
  return group;
}

bool shake_positions(const ConstraintGroup& group, std::span<const Vec3> before, std::span<Vec3> after,
                     double tolerance) {
  switch (group.n_constraints) {
    case 0:
      return true;
    case 1:
      return shake<1>(group, before, after, tolerance);
    case 2:
      return shake<2>(group, before, after, tolerance);
    case 3:
      return shake<3>(group, before, after, tolerance);
    case 4:
      return shake<4>(group, before, after, tolerance);
    default:
      return shake<0>(group, before, after, tolerance);
  }
}

bool rattle_velocities(const ConstraintGroup& group, std::span<const Vec3> position, std::span<Vec3> velocity) {
  switch (group.n_constraints) {
    case 0:
      return true;
    case 1:
      return rattle<1>(group, position, velocity);
    case 2:
      return rattle<2>(group, position, velocity);
    case 3:
      return rattle<3>(group, position, velocity);
    case 4:
      return rattle<4>(group, position, velocity);
    default:
      return rattle<0>(group, position, velocity);
  }
}

}  // namespace tessera::md::constraint
