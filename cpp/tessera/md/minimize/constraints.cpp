#include "tessera/md/minimize/constraints.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/index.h"
#include "tessera/base/random.h"

namespace tessera::md::minimize {

using constraint::ConstraintGroup;

namespace {

/// Returns the greatest relative error of a squared distance.
double greatest_error(const ConstraintGroup& group, std::span<const Vec3> position) {
  double greatest = 0;
  for (std::size_t k = 0; k < at(group.n_constraints); ++k) {
    const auto [i, j] = group.pair[k];
    greatest = std::max(greatest, std::abs(norm2(position[at(i)] - position[at(j)]) / group.distance2[k] - 1));
  }
  return greatest;
}

/// Moves the two atoms of one constraint after another to their distance, again and again.
void relax_distances(const ConstraintGroup& group, std::span<Vec3> position) {
  constexpr int most_sweeps = 1000;
  constexpr double near_enough = 1e-3;  // from there Newton's method converges
  for (int sweep = 0; sweep < most_sweeps && greatest_error(group, position) > near_enough; ++sweep) {
    for (std::size_t k = 0; k < at(group.n_constraints); ++k) {
      const auto [i, j] = group.pair[k];
      const Vec3 apart = position[at(i)] - position[at(j)];
      const double distance = norm(apart);
      if (!(distance > 0)) continue;
      const Vec3 half = (0.5 * (std::sqrt(group.distance2[k]) / distance - 1)) * apart;
      position[at(i)] += half;
      position[at(j)] -= half;
    }
  }
}

/// Returns a small displacement that depends on the id, up to about 0.1 Å.
Vec3 nudge(std::int64_t id, std::uint64_t atom) {
  const auto words = random_words(0, RandomStream::minimisation, static_cast<std::uint64_t>(id), atom);
  const auto component = [](std::uint32_t word) { return 0.1 * (word / 2147483648.0 - 1); };
  return {component(words[0]), component(words[1]), component(words[2])};
}

}  // namespace

ConstraintGroup with_equal_masses(const ConstraintGroup& group) {
  std::vector<double> distance;
  for (std::size_t k = 0; k < at(group.n_constraints); ++k) distance.push_back(std::sqrt(group.distance2[k]));
  return constraint::make_constraint_group(std::span(group.pair).first(at(group.n_constraints)), distance,
                                           std::vector<double>(at(group.n_atoms), 1.0));
}

void project(const ConstraintGroup& group, std::span<const Vec3> position, std::span<Vec3> vector) {
  if (group.n_constraints == 0 || constraint::rattle_velocities(group, position, vector)) return;
  std::fill(vector.begin(), vector.end(), Vec3{});
}

void move_along(const ConstraintGroup& group, std::span<Vec3> position, std::span<const Vec3> displacement,
                double tolerance) {
  constexpr int most_halvings = 6;
  const auto n = position.size();
  GroupVectors before{}, after{};
  std::copy(position.begin(), position.end(), before.begin());
  double scale = 1;
  for (int halving = 0; halving <= most_halvings; ++halving, scale *= 0.5) {
    for (std::size_t k = 0; k < n; ++k) after[k] = before[k] + scale * displacement[k];
    if (!constraint::shake_positions(group, std::span(before).first(n), std::span(after).first(n), tolerance)) continue;
    std::copy_n(after.begin(), n, position.begin());
    return;
  }
}

bool restore_distances(const ConstraintGroup& group, std::span<Vec3> position, std::int64_t id, double tolerance) {
  constexpr double holds = 1e-6;  // what rounding to fractions of the box leaves
  constexpr double close = 0.1;
  const double error = greatest_error(group, position);
  if (error <= holds) return true;
  const auto n = position.size();
  GroupVectors before{};
  const auto correct = [&] {
    std::copy(position.begin(), position.end(), before.begin());
    return constraint::shake_positions(group, std::span(before).first(n), position, tolerance);
  };
  if (error < close && correct()) return true;
  for (std::uint64_t k = 0; k < n; ++k) position[k] += nudge(id, k);
  relax_distances(group, position);
  return correct();
}

}  // namespace tessera::md::minimize
