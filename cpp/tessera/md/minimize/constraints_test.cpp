#include "tessera/md/minimize/constraints.h"

#include "tessera/md/constraint/constraint_test_support.h"

namespace tessera::md::minimize {
namespace {

using namespace constraint::test;

/// Returns how much the displacement changes the squared distances, Å².
double greatest_change(const Molecule& molecule, std::span<const Vec3> position, std::span<const Vec3> vector) {
  double greatest = 0;
  for (const auto& [i, j] : molecule.pairs) {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    greatest = std::max(greatest, std::abs(dot(position[a] - position[b], vector[a] - vector[b])));
  }
  return greatest;
}

TEST(MinimizeConstraints, ProjectionIsOrthogonalWithEqualMasses) {
  std::mt19937_64 random(41);
  for (const Molecule& molecule : molecules()) {
    const auto group = with_equal_masses(molecule.group());
    for (int trial = 0; trial < 100; ++trial) {
      const auto position = placed(molecule.shape, random);
      std::vector<Vec3> force(position.size()), projected;
      for (Vec3& f : force) f = random_vector(random, 100);
      projected = force;
      project(group, position, projected);
      EXPECT_LT(greatest_change(molecule, position, projected), 1e-10);
      double removed_along_kept = 0;  // what is removed is orthogonal to what is kept
      for (std::size_t k = 0; k < force.size(); ++k) removed_along_kept += dot(force[k] - projected[k], projected[k]);
      EXPECT_NEAR(removed_along_kept, 0, 1e-8);
    }
  }
}

TEST(MinimizeConstraints, MovesKeepDistancesHoweverLong) {
  std::mt19937_64 random(42);
  for (const Molecule& molecule : molecules()) {
    const auto group = with_equal_masses(molecule.group());
    for (const double length : {0.01, 0.2, 3.0}) {
      for (int trial = 0; trial < 50; ++trial) {
        const auto before = placed(molecule.shape, random);
        std::vector<Vec3> displacement(before.size());
        for (Vec3& d : displacement) d = random_vector(random, length);
        project(group, before, displacement);
        auto after = before;
        move_along(group, after, displacement, 1e-10);
        for (std::size_t k = 0; k < group.pair.size() && k < molecule.pairs.size(); ++k) {
          const auto [i, j] = group.pair[k];
          const Vec3 r = after[static_cast<std::size_t>(i)] - after[static_cast<std::size_t>(j)];
          EXPECT_NEAR(norm2(r), group.distance2[k], 2e-9 * group.distance2[k]);
        }
      }
    }
  }
}

TEST(MinimizeConstraints, DistancesAreRestoredFromAnywhere) {
  std::mt19937_64 random(43);
  for (const Molecule& molecule : molecules()) {
    const auto group = with_equal_masses(molecule.group());
    const auto check = [&](std::vector<Vec3> position, std::int64_t id) {
      ASSERT_TRUE(restore_distances(group, position, id, 1e-10));
      for (std::size_t k = 0; k < molecule.pairs.size(); ++k) {
        const auto [i, j] = group.pair[k];
        const Vec3 r = position[static_cast<std::size_t>(i)] - position[static_cast<std::size_t>(j)];
        EXPECT_NEAR(norm2(r), group.distance2[k], 2e-9 * group.distance2[k]);
      }
    };
    for (int trial = 0; trial < 50; ++trial) {
      auto position = placed(molecule.shape, random, 1);
      check(position, trial);
      for (Vec3& r : position) r += random_vector(random, 0.02 * trial);
      check(position, trial);
      check(std::vector<Vec3>(position.size(), position[0]), trial);  // all at one place
      for (std::size_t k = 0; k < position.size(); ++k) position[k] = {0.5 * static_cast<double>(k), 0, 0};
      check(position, trial);  // in one line
    }
  }
}

}  // namespace
}  // namespace tessera::md::minimize
