// Compares the half steps with one group at a time, with every instruction set that this machine has.
#include "tessera/md/integrate/half_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tessera/base/random.h"
#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/base/units.h"
#include "tessera/md/integrate/half_step_test_support.h"

namespace tessera::md::integrate {
namespace {

using namespace test;

/// Calls visit(list, slots, places, velocities after half a kick) for each group.
template <class Visit>
void for_groups(const Sample& sample, Visit&& visit) {
  for (std::size_t m = 0; m < sample.lists.size(); ++m) {
    const auto& list = sample.lists[m];
    const auto n = sample.mass[m].size();
    for (std::size_t first = 0; first < list.slots.size(); first += n) {
      const auto slots = std::span(list.slots).subspan(first, n);
      std::vector<Vec3> place, velocity;
      for (std::size_t a = 0; a < n; ++a) {
        place.push_back(box.displacement(sample.position[index(slots[0])], sample.position[index(slots[a])]));
        velocity.push_back(sample.exact_velocity(slots[a]) +
                           (0.5 * timestep * units::acceleration / sample.mass[m][a]) * sample.exact_force(slots[a]));
      }
      visit(list, slots, place, velocity, sample.mass[m]);
    }
  }
}

/// Checks that an atom moves at `v`, within rounding.
void expect_velocity(const Sample& sample, std::int32_t slot, const Vec3& v) {
  const Vec3 found = sample.exact_velocity(slot);
  EXPECT_NEAR(found.x, v.x, velocity_unit);
  EXPECT_NEAR(found.y, v.y, velocity_unit);
  EXPECT_NEAR(found.z, v.z, velocity_unit);
}

void check_drift() {
  const Sample before = make_sample(21);
  Sample after = before;
  Failure failure;
  kick_and_drift(after.lists, 0, 1, after.step(), failure);
  EXPECT_EQ(failure.slot, -1);
  for_groups(before, [&](const GroupList& list, std::span<const std::int32_t> slots, const std::vector<Vec3>& place,
                         const std::vector<Vec3>& kicked, const std::vector<double>&) {
    std::vector<Vec3> drifted;
    for (std::size_t a = 0; a < place.size(); ++a) drifted.push_back(place[a] + timestep * kicked[a]);
    if (list.kind.settle) {
      std::array<Vec3, 3> settled = {drifted[0], drifted[1], drifted[2]};
      ASSERT_TRUE(constraint::settle_positions(*list.kind.settle, {place[0], place[1], place[2]}, settled));
      drifted.assign(settled.begin(), settled.end());
    } else {
      ASSERT_TRUE(constraint::shake_positions(list.kind.group, place, drifted));
    }
    for (std::size_t a = 0; a < place.size(); ++a) {
      const Vec3 moved = drifted[a] - place[a];
      expect_velocity(after, slots[a], (1 / timestep) * moved);
      const auto expected = before.position[index(slots[a])] + box.fraction(moved);
      EXPECT_LT(norm(box.displacement(expected, after.position[index(slots[a])])), 2e-8);  // two units per direction
    }
  });
}

void check_projection() {
  const Sample before = make_sample(21);
  Sample after = before;
  Failure failure;
  EnergyVirial found;
  kick_and_project(after.lists, 0, 1, after.step(), failure, &found);
  EXPECT_EQ(failure.slot, -1);
  EXPECT_EQ(after.position, before.position);
  EnergyVirial expected;
  for_groups(before, [&](const GroupList& list, std::span<const std::int32_t> slots, const std::vector<Vec3>& place,
                         const std::vector<Vec3>& kicked, const std::vector<double>& mass) {
    auto velocity = kicked;
    ASSERT_TRUE(constraint::rattle_velocities(list.kind.group, place, velocity));
    for (std::size_t a = 0; a < place.size(); ++a) {
      expect_velocity(after, slots[a], velocity[a]);
      expected.add_virial(place[a], (2 * mass[a] / (timestep * units::acceleration)) * (velocity[a] - kicked[a]));
    }
  });
  for (std::size_t c = 0; c < 6; ++c)
    EXPECT_NEAR(from_fixed(found.virial[c], energy_unit), from_fixed(expected.virial[c], energy_unit), 1e-4);
  EXPECT_GT(std::abs(expected.virial[0]) * energy_unit, 100);

  Sample without = before;
  kick_and_project(without.lists, 0, 1, without.step(), failure, nullptr);
  EXPECT_EQ(without.velocity, after.velocity);
}

/// Compares the half step with noise with its parts: half a drift, friction and noise by the scalar formula between two
/// projections, and the other half of the drift.
void check_noise() {
  const Sample before = make_sample(21);
  const std::size_t n = before.velocity.size();
  const Noise noise(n);
  Failure failure;
  Sample after = before;
  const auto heat = kick_and_drift_with_noise(after.lists, 0, 1, after.step(), noise.all, failure);
  EXPECT_EQ(failure.slot, -1);

  std::vector<double> mass(n);
  for_groups(before, [&](const GroupList&, std::span<const std::int32_t> slots, const std::vector<Vec3>&,
                         const std::vector<Vec3>&, const std::vector<double>& of_group) {
    for (std::size_t a = 0; a < slots.size(); ++a) mass[index(slots[a])] = of_group[a];
  });
  Sample parts = before;
  const auto half_a_step = [&](double kick) {
    auto step = parts.step(kick);
    step.timestep = 0.5 * timestep;
    return step;
  };
  const auto kinetic_energy = [&] {
    double sum = 0;
    for (std::size_t s = 0; s < n; ++s)
      sum += 0.5 * mass[s] / units::acceleration * norm2(parts.exact_velocity(static_cast<std::int32_t>(s)));
    return sum;
  };
  kick_and_drift(parts.lists, 0, 1, half_a_step(0.5 * timestep), failure);
  kick_and_project(parts.lists, 0, 1, half_a_step(0), failure, nullptr);
  const double energy_before = kinetic_energy();
  for (std::size_t s = 0; s < n; ++s) {
    const auto normal = random_normals(noise.all.seed, RandomStream::thermostat,
                                       static_cast<std::uint64_t>(noise.id[s]), noise.all.step);
    const auto& bath = noise.all.baths[noise.bath[s]];
    const double sigma = std::sqrt(bath.thermal / mass[s]) / velocity_unit;
    auto& v = parts.velocity[s];
    const auto changed = [&](std::int32_t component, double deviate) {
      return static_cast<std::int32_t>(std::lrint(bath.decay * component + sigma * deviate));
    };
    v = {changed(v.x, normal[0]), changed(v.y, normal[1]), changed(v.z, normal[2])};
  }
  kick_and_project(parts.lists, 0, 1, half_a_step(0), failure, nullptr);
  EXPECT_NEAR(from_fixed(heat, energy_unit), kinetic_energy() - energy_before, 1e-3);
  kick_and_drift(parts.lists, 0, 1, half_a_step(0), failure);
  for (std::size_t s = 0; s < n; ++s) {
    EXPECT_LT(
        norm(parts.exact_velocity(static_cast<std::int32_t>(s)) - after.exact_velocity(static_cast<std::int32_t>(s))),
        1e-4);  // Å/ps: the parts round the places that constraints are taken from
    EXPECT_LT(norm(box.displacement(parts.position[s], after.position[s])), 1e-7);
  }
}

void check_noise_of_a_fast_atom() {
  Sample sample = make_sample(1);
  std::fill(sample.force.begin(), sample.force.end(), 0);
  for (auto& v : sample.velocity) v = {};
  Noise noise(sample.velocity.size());
  noise.all.baths = {{1, 1e12}, {1, 1e12}};
  Failure failure;
  kick_and_drift_with_noise(sample.lists, 0, 1, sample.step(), noise.all, failure);
  // What is beyond the range of velocities is cut, and not turned round.
  std::int64_t most = 0;
  for (const auto& v : sample.velocity) most = std::max<std::int64_t>(most, std::abs(std::int64_t{v.x}));
  EXPECT_GE(most, 2147483647);
}

struct Moved {
  std::vector<Fraction> position;
  std::vector<Velocity> velocity;
  std::array<std::int64_t, 6> virial;

  friend bool operator==(const Moved&, const Moved&) = default;
};

/// Checks that the rest of a batch changes no bits, in any number of shares and with another group first. The tolerance
/// is loose, so that an iteration beyond those that a group needs would show. Returns what has become of the atoms.
std::vector<Moved> check_independence() {
  std::vector<Moved> all;
  enum class Half { drift, drift_with_noise, project, virial };
  for (const auto half : {Half::drift, Half::drift_with_noise, Half::project, Half::virial}) {
    const Sample start = make_sample(21);
    const Noise noise(start.velocity.size());
    const auto run = [&](Sample& sample, int shares) {
      Failure failure;
      EnergyVirial energies;
      HalfStep step = sample.step();
      step.tolerance = 1e-4;
      for (int share = 0; share < shares; ++share)
        if (half == Half::drift)
          kick_and_drift(sample.lists, share, shares, step, failure);
        else if (half == Half::project)
          kick_and_project(sample.lists, share, shares, step, failure, &energies);
        else if (half == Half::virial)
          add_virial_within(sample.lists, share, shares, step, energies);
        else
          add_fixed(energies.virial[0],
                    kick_and_drift_with_noise(sample.lists, share, shares, step, noise.all, failure));
      return energies.virial;
    };
    Sample whole = start;
    const auto virial = run(whole, 1);
    for (const int shares : {2, 3, 5, 30}) {
      Sample parts = start;
      EXPECT_EQ(run(parts, shares), virial);
      EXPECT_EQ(parts.position, whole.position) << shares << " shares";
      EXPECT_EQ(parts.velocity, whole.velocity) << shares << " shares";
    }
    Sample turned = start;
    for (std::size_t m = 0; m < turned.lists.size(); ++m) {
      auto& slots = turned.lists[m].slots;
      std::rotate(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(5 * turned.mass[m].size()), slots.end());
    }
    EXPECT_EQ(run(turned, 1), virial);
    EXPECT_EQ(turned.position, whole.position);
    EXPECT_EQ(turned.velocity, whole.velocity);
    all.push_back({whole.position, whole.velocity, virial});
  }
  return all;
}

/// Lets a group of each kind fail: it must be stopped and reported, and the others must not change.
void check_failure() {
  Sample start = make_sample(13);
  std::fill(start.force.begin(), start.force.end(), 0);
  Sample whole = start;
  Failure none;
  kick_and_drift(whole.lists, 0, 1, whole.step(), none);
  for (std::size_t m = 0; m < start.lists.size(); ++m)
    for (const bool too_fast : {true, false}) {
      const auto& constraints = start.lists[m].kind.group;
      if (!too_fast && constraints.n_constraints == 0) continue;
      const auto n = start.mass[m].size();
      const auto group = std::span(start.lists[m].slots).subspan(6 * n, n);
      Sample broken = start;
      auto culprit = group[n - 1];
      if (too_fast) {
        broken.velocity[index(culprit)].x = static_cast<std::int32_t>(1500 / velocity_unit);
      } else {  // gives a bond no direction
        const auto [i, j] = constraints.pair[0];
        broken.position[index(group[index(i)])] = broken.position[index(group[index(j)])];
        culprit = group[0];
      }
      const auto place = broken.position;
      Failure failure;
      kick_and_drift(broken.lists, 0, 1, broken.step(), failure);
      EXPECT_EQ(failure.slot, culprit) << "list " << m;
      EXPECT_NEAR(failure.speed, too_fast ? 1500 : 0, 5);
      for (std::size_t s = 0; s < place.size(); ++s) {
        const bool is_stopped = std::find(group.begin(), group.end(), static_cast<std::int32_t>(s)) != group.end();
        EXPECT_EQ(broken.position[s], is_stopped ? place[s] : whole.position[s]);
        EXPECT_EQ(broken.velocity[s], is_stopped ? Velocity{} : whole.velocity[s]);
      }
    }
}

TEST(HalfStep, DriftAgreesWithOneGroupAtATime) { tessera::test::for_instruction_sets(check_drift); }

TEST(HalfStep, ProjectionAgreesWithOneGroupAtATime) { tessera::test::for_instruction_sets(check_projection); }

TEST(HalfStep, NoiseAgreesWithItsParts) { tessera::test::for_instruction_sets(check_noise); }

TEST(HalfStep, NoiseStaysInTheRangeOfVelocities) { tessera::test::for_instruction_sets(check_noise_of_a_fast_atom); }

TEST(HalfStep, AGroupsBitsDoNotDependOnItsBatch) { tessera::test::for_instruction_sets(check_independence); }

TEST(HalfStep, StopsAndNamesAGroupThatFails) { tessera::test::for_instruction_sets(check_failure); }

TEST(HalfStep, OfFailuresTheLeastSlotIsTold) {
  Failure failure;
  failure.offer({});
  EXPECT_EQ(failure.slot, -1);
  for (const std::int32_t slot : {7, 3, 5}) failure.offer({slot, 1000.0 + slot});
  EXPECT_EQ(failure.slot, 3);
  EXPECT_EQ(failure.speed, 1003);
}

}  // namespace
}  // namespace tessera::md::integrate
