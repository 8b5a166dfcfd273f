// Provides small rigid molecules in random places, and checks that every constraint method must pass.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "tessera/base/vec3.h"
#include "tessera/md/constraint/shake.h"

namespace tessera::md::constraint::test {

inline Vec3 random_vector(std::mt19937_64& random, double size) {
  std::uniform_real_distribution<double> uniform(-size, size);
  return {uniform(random), uniform(random), uniform(random)};
}

/// Returns the shape, turned about a random axis through the origin, then moved.
inline std::vector<Vec3> placed(std::vector<Vec3> shape, std::mt19937_64& random, double far = 20) {
  Vec3 u, v;
  do {
    u = random_vector(random, 1);
    v = random_vector(random, 1);
  } while (norm(u) < 0.2 || norm(cross(u, v)) < 0.2 * norm(u));
  u *= 1 / norm(u);
  v -= dot(u, v) * u;
  v *= 1 / norm(v);
  const Vec3 w = cross(u, v), to = random_vector(random, far);
  for (Vec3& r : shape) r = to + (r.x * u + r.y * v + r.z * w);
  return shape;
}

struct Molecule {
  std::vector<Vec3> shape;  // Å
  std::vector<double> mass;
  std::vector<std::array<std::int32_t, 2>> pairs;

  std::vector<double> distances() const {
    std::vector<double> d;
    for (const auto& [i, j] : pairs) {
      d.push_back(norm(shape[static_cast<std::size_t>(i)] - shape[static_cast<std::size_t>(j)]));
    }
    return d;
  }
  ConstraintGroup group() const { return make_constraint_group(pairs, distances(), mass); }
};

inline Molecule water() {
  const double oh = 0.9572, half = 1.5139 / 2;
  const double height = std::sqrt(oh * oh - half * half);
  return {{{0, 0, 0}, {half, height, 0}, {-half, height, 0}}, {15.9994, 1.008, 1.008}, {{0, 1}, {0, 2}, {1, 2}}};
}

/// Returns a heavy atom with n hydrogens at tetrahedral places.
inline Molecule star(int n_hydrogens, double heavy_mass, double length) {
  const double e = length / std::sqrt(3.0);
  const std::vector<Vec3> places{{e, e, e}, {-e, -e, e}, {-e, e, -e}, {e, -e, -e}};
  Molecule molecule{{{0, 0, 0}}, {heavy_mass}, {}};
  for (int i = 0; i < n_hydrogens; ++i) {
    molecule.shape.push_back(places[static_cast<std::size_t>(i)]);
    molecule.mass.push_back(1.008);
    molecule.pairs.push_back({0, i + 1});
  }
  return molecule;
}

/// Returns groups of every size that has a loop of its own, and two larger ones.
inline std::vector<Molecule> molecules() {
  Molecule rigid_methane = star(4, 12.011, 1.09);  // with H···H constraints, one left out: 4 + 5 = 9, a rigid body
  for (std::int32_t i = 1; i <= 4; ++i) {
    for (std::int32_t j = i + 1; j <= 4; ++j) {
      if (!(i == 3 && j == 4)) rigid_methane.pairs.push_back({i, j});
    }
  }
  Molecule ethane{{}, {}, {}};  // two methyls and the bond between them: 8 atoms, 7 constraints
  const Molecule methyl = star(3, 12.011, 1.09);
  for (int side = 0; side < 2; ++side) {
    const auto first = static_cast<std::int32_t>(ethane.shape.size());
    for (const Vec3& r : methyl.shape) {
      const Vec3 centred = side == 0 ? r : -r;
      ethane.shape.push_back(centred + (side == 0 ? 0.0 : 1.0) * Vec3{0.89, -0.89, -0.89});
    }
    ethane.mass.insert(ethane.mass.end(), methyl.mass.begin(), methyl.mass.end());
    for (std::int32_t i = 1; i <= 3; ++i) ethane.pairs.push_back({first, first + i});
  }
  ethane.pairs.push_back({0, 4});
  return {star(1, 15.9994, 0.96), star(2, 12.011, 1.09),
          star(3, 12.011, 1.09),  star(3, 14.007, 1.01),
          star(4, 14.007, 1.04),  water(),
          rigid_methane,          ethane};
}

struct Momenta {
  Vec3 linear, angular;  // amu·Å; amu·Å² about the origin
};
inline Momenta momenta(std::span<const double> mass, std::span<const Vec3> position, std::span<const Vec3> change) {
  Momenta sum;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    sum.linear += mass[i] * change[i];
    sum.angular += mass[i] * cross(position[i], change[i]);
  }
  return sum;
}

/// Checks that distances are correct, and that the correction changed neither momentum.
inline void check_positions(const Molecule& molecule, std::span<const Vec3> before, std::span<const Vec3> unconstrained,
                            std::span<const Vec3> after, double tolerance) {
  const auto distance = molecule.distances();
  for (std::size_t k = 0; k < distance.size(); ++k) {
    const auto& [i, j] = molecule.pairs[k];
    EXPECT_NEAR(norm(after[static_cast<std::size_t>(i)] - after[static_cast<std::size_t>(j)]), distance[k], tolerance);
  }
  std::vector<Vec3> correction, relative;
  for (std::size_t i = 0; i < after.size(); ++i) {
    correction.push_back(after[i] - unconstrained[i]);
    relative.push_back(before[i] - before[0]);
  }
  const Momenta change = momenta(molecule.mass, relative, correction);
  EXPECT_NEAR(norm(change.linear), 0, 1e-12);
  EXPECT_NEAR(norm(change.angular), 0, 1e-12);
}

inline void check_velocities(const Molecule& molecule, std::span<const Vec3> position, std::span<const Vec3> before,
                             std::span<const Vec3> after) {
  for (const auto& pair : molecule.pairs) {
    const auto i = static_cast<std::size_t>(pair[0]), j = static_cast<std::size_t>(pair[1]);
    EXPECT_NEAR(dot(position[i] - position[j], after[i] - after[j]), 0, 1e-11);
  }
  std::vector<Vec3> change, relative;
  double removed = 0;  // by the constraint forces, which do no work on the remaining motion
  for (std::size_t i = 0; i < after.size(); ++i) {
    change.push_back(after[i] - before[i]);
    relative.push_back(position[i] - position[0]);
    removed += molecule.mass[i] * dot(change[i], after[i]);
  }
  const Momenta sum = momenta(molecule.mass, relative, change);
  EXPECT_NEAR(norm(sum.linear), 0, 1e-11);
  EXPECT_NEAR(norm(sum.angular), 0, 1e-11);
  EXPECT_NEAR(removed, 0, 1e-9);  // a projection: the removed part is orthogonal to the rest
}

/// Lets a molecule tumble freely for 10⁴ steps by the method `positions(before, after)`, `velocities(position,
/// velocity)`. Checks that the energy stays within the error of this time step without drift, and momenta within
/// rounding.
template <class Positions, class Velocities>
void check_free_rotor(const Molecule& molecule, std::vector<Vec3> position, std::vector<Vec3> velocity, double dt,
                      Positions&& positions, Velocities&& velocities) {
  // The molecule stays near the origin, because positions have fewer digits far away and velocities are their
  // differences here.
  Vec3 drift;
  double total_mass = 0;
  for (std::size_t i = 0; i < position.size(); ++i) {
    drift += molecule.mass[i] * velocity[i];
    total_mass += molecule.mass[i];
  }
  for (Vec3& v : velocity) v -= (1 / total_mass) * drift;
  velocities(position, velocity);
  const std::size_t n = position.size();
  const auto kinetic = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += 0.5 * molecule.mass[i] * norm2(velocity[i]);
    return sum;
  };
  const double start = kinetic();
  const Momenta momenta_start = momenta(molecule.mass, position, velocity);
  double early = 0, late = 0;
  const int n_steps = 10000;
  for (int step = 0; step < n_steps; ++step) {
    std::vector<Vec3> next = position;
    for (std::size_t i = 0; i < n; ++i) next[i] += dt * velocity[i];
    positions(position, next);
    for (std::size_t i = 0; i < n; ++i) velocity[i] = (1 / dt) * (next[i] - position[i]);
    velocities(next, velocity);
    position = next;
    const double energy = kinetic();
    ASSERT_NEAR(energy / start, 1, 2e-3) << "step " << step;
    (step < n_steps / 2 ? early : late) += energy / (n_steps / 2);
  }
  EXPECT_NEAR(late / early, 1, 1e-5);
  const Momenta momenta_end = momenta(molecule.mass, position, velocity);
  // The rounding of positions is 1e-16 over dt, and it makes a random walk of 10⁴ steps.
  EXPECT_NEAR(norm(momenta_end.linear - momenta_start.linear), 0, 1e-8);
  EXPECT_NEAR(norm(momenta_end.angular - momenta_start.angular), 0, 1e-7);
}

}  // namespace tessera::md::constraint::test
