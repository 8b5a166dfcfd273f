#include "tessera/md/minimize/minimize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/minimize/constraints.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md::minimize {
namespace {

using namespace test;

struct Found {
  Result result;
  double energy = 0;
  std::vector<double> course;    // of energies
  std::vector<Particle> places;  // by id
};

Found minimized(const Sample& sample, const EngineSettings& s, const Settings& settings, int n_ranks, int n_threads,
                std::int64_t stop_at = -1) {
  Found found;
  std::mutex mutex;
  comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads(n_threads);
    Engine engine(sample.system, s, plan_for_ranks(sample.system, s, sample.system.box, comm, threads), comm, threads);
    auto start = snapshot_of(sample);
    if (!comm.is_root()) start.atoms.clear();
    engine.set_state(start);
    std::vector<double> course;
    const auto result = minimize(engine, settings, comm, threads, [&](const Progress& progress) {
      course.push_back(progress.energy);
      return progress.steps == stop_at;
    });
    EXPECT_TRUE(engine.fields().empty());
    const auto own = engine.snapshot().atoms;
    const std::lock_guard lock(mutex);
    found.result = result;
    found.energy = engine.energies().potential();
    found.course = course;
    for (const auto& p : own) found.places.push_back({p.id, p.position + p.displacement, p.velocity, {}});
  });
  std::sort(found.places.begin(), found.places.end(), [](const auto& p, const auto& q) { return p.id < q.id; });
  return found;
}

/// Displaces every atom by up to about half an Å, and puts some molecules at the places of others.
Sample spoilt(Sample sample, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto& particles = sample.particles;
  for (int k = 0; k < 6; ++k) {
    const auto from = 3 * (random() % 216), to = 3 * (random() % 216);
    for (std::size_t a = 0; a < 3; ++a) particles[to + a].position = particles[from + a].position;
  }
  for (auto& p : particles)
    p.position =
        p.position + sample.system.box.fraction((0.1 * static_cast<double>(random() % 6)) * random_direction(random));
  for (std::size_t a = 0; a < 3; ++a) particles[a].position = particles[300 + a].position;  // they coincide
  return sample;
}

void expect_same(const Found& a, const Found& b) {
  EXPECT_EQ(a.course, b.course);
  EXPECT_EQ(a.energy, b.energy);
  EXPECT_EQ(a.result.max_force, b.result.max_force);
  EXPECT_EQ(a.result.atom, b.result.atom);
  for (std::size_t i = 0; i < a.places.size(); ++i) ASSERT_EQ(a.places[i].position, b.places[i].position);
}

TEST(Minimize, OverlapsAreResolvedTheSameOnAnyRanks) {
  for (const bool rigid : {true, false}) {
    const auto start = spoilt(make_water(rigid), 7);
    const auto s = settings(rigid, false);
    const Settings to = {.max_force = 10, .max_steps = 1000};
    const auto alone = minimized(start, s, to, 1, 1);
    EXPECT_EQ(alone.result.ending, Ending::converged);
    EXPECT_LE(alone.result.max_force, 10);
    EXPECT_GT(alone.result.start_energies.potential(), 1e15);
    EXPECT_LT(alone.energy, -1500);  // liquid water at 300 K has about −2,000
    EXPECT_EQ(alone.energy, alone.result.energy);
    EXPECT_TRUE(std::is_sorted(alone.course.rbegin(), alone.course.rend()));  // it never rises
    expect_same(minimized(start, s, to, 3, 2), alone);
    if (!rigid) continue;
    expect_same(minimized(start, s, to, 1, 2), alone);
    expect_same(minimized(start, s, to, 2, 1), alone);
    const auto& box = start.system.box;
    for (std::size_t w = 0; w < alone.places.size(); w += 3) {
      const auto distance = [&](std::size_t i, std::size_t j) {
        return norm(box.displacement(alone.places[w + i].position, alone.places[w + j].position));
      };
      EXPECT_NEAR(distance(0, 1), 0.9572, 2e-7);
      EXPECT_NEAR(distance(0, 2), 0.9572, 2e-7);
      EXPECT_NEAR(distance(1, 2), 1.5139, 2e-7);
    }
  }
}

TEST(Minimize, StopsAndRunsOutOfStepsWhereTheEnergyIsLowest) {
  const auto s = settings(true, true);
  const auto& start = warm_water(true);
  const auto few = minimized(start, s, {.max_force = 1e-3, .max_steps = 30}, 2, 1);
  EXPECT_EQ(few.result.ending, Ending::out_of_steps);
  EXPECT_EQ(few.result.steps, 30);
  EXPECT_EQ(few.energy, *std::min_element(few.course.begin(), few.course.end()));
  const auto stopped = minimized(start, s, {.max_force = 1e-3, .max_steps = 1000}, 2, 1, 30);
  EXPECT_EQ(stopped.result.ending, Ending::stopped);
  expect_same(stopped, few);
  const auto none = minimized(start, s, {.max_force = 10, .max_steps = 0}, 1, 1);
  EXPECT_EQ(none.result.steps, 0);
  EXPECT_EQ(none.energy, none.result.start_energies.potential());
}

// Below what single precision can tell, the search says that it finds no lower energy, and ends.
TEST(Minimize, ConvergesAsFarAsThePrecisionAllows) {
  const Settings to = {.max_force = 0.02, .max_steps = 3000};  // energies are summed in units of 4e-9 kcal/mol
  const auto found = minimized(warm_water(true), settings(true, true), to, 1, 1);
  EXPECT_EQ(found.result.ending, Ending::converged);
  const auto hopeless =
      minimized(warm_water(true), settings(true, false), {.max_force = 1e-9, .max_steps = 2000}, 1, 1);
  EXPECT_EQ(hopeless.result.ending, Ending::no_lower_energy);
  EXPECT_LT(hopeless.result.max_force, 1);
  EXPECT_TRUE(std::is_sorted(hopeless.course.rbegin(), hopeless.course.rend()));
}

// The projected force is the derivative of the energy along moves that keep the constraints.
TEST(Minimize, TheProjectedForceIsTheSlopeAlongTheConstraints) {
  const auto& sample = warm_water(true);
  Simulation run(sample, settings(true, true));
  const auto& box = sample.system.box;
  const auto& groups = run.engine.topology().groups();
  std::mt19937_64 random(9);
  std::vector<Vec3> direction(run.engine.state().id.size(), Vec3{});
  double slope = 0;
  const auto for_groups = [&](auto&& work) {
    for (const auto& list : groups) {
      const auto group = with_equal_masses(list.kind.group);
      const auto n = static_cast<std::size_t>(group.n_atoms);
      for (std::size_t g = 0; g < list.slots.size(); g += n) work(group, std::span(list.slots).subspan(g, n));
    }
  };
  const auto& state = run.engine.state();
  const auto places = [&](std::span<const std::int32_t> slots) {
    GroupVectors place{};
    for (std::size_t k = 0; k < slots.size(); ++k)
      place[k] = box.displacement(state.position[index(slots[0])], state.position[index(slots[k])]);
    return place;
  };
  for_groups([&](const auto& group, std::span<const std::int32_t> slots) {
    const auto place = places(slots);
    GroupVectors force{};
    for (std::size_t k = 0; k < slots.size(); ++k) {
      force[k] = run.engine.force(slots[k]);
      direction[index(slots[k])] = random_direction(random);
    }
    std::array<Vec3, 8> along{};
    for (std::size_t k = 0; k < slots.size(); ++k) along[k] = direction[index(slots[k])];
    project(group, std::span(place).first(slots.size()), std::span(along).first(slots.size()));
    project(group, std::span(place).first(slots.size()), std::span(force).first(slots.size()));
    for (std::size_t k = 0; k < slots.size(); ++k) {
      direction[index(slots[k])] = along[k];
      slope -= dot(force[k], along[k]);
    }
  });
  const auto start = state.position;
  const auto energy_at = [&](double length) {
    run.engine.displace([&](State& moving) {
      for_groups([&](const auto& group, std::span<const std::int32_t> slots) {
        for (const auto slot : slots) moving.position[index(slot)] = start[index(slot)];
        auto place = places(slots);
        const auto old = place;
        GroupVectors step{};
        for (std::size_t k = 0; k < slots.size(); ++k) step[k] = length * direction[index(slots[k])];
        move_along(group, std::span(place).first(slots.size()), std::span(step).first(slots.size()), 1e-12);
        for (std::size_t k = 0; k < slots.size(); ++k)
          moving.position[index(slots[k])] = start[index(slots[k])] + box.fraction(place[k] - old[k]);
      });
    });
    return run.engine.energies().potential();
  };
  const double h = 1e-4;
  const double measured = (energy_at(h) - energy_at(-h)) / (2 * h);
  EXPECT_NEAR(measured, slope, 1e-3 * std::abs(slope));
}

}  // namespace
}  // namespace tessera::md::minimize
