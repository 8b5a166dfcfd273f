// Implements matrix SHAKE and RATTLE; formula and sources are in shake.h.
#include "tessera/md/constraint/shake.h"

#include <cmath>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::md::constraint {
namespace {

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
