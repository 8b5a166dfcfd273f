// Forces in groups, and an integrator that applies them at different times.
#include "tessera/md/forces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md {
namespace {

using namespace test;

// A group of forces has its own array and virial; all groups together are what one group of all is, to the bit.
TEST(ForceGroups, AreTheSameForcesInParts) {
  const auto s = settings(false, false);
  auto apart = s;
  apart.force_groups.group_of = {0, 1, 2};
  Simulation one(warm_water(false), s), three(warm_water(false), apart);
  one.advance(15, true);
  three.advance(15, true);
  EXPECT_EQ(one.engine.energies().term, three.engine.energies().term);
  EXPECT_EQ(one.engine.energies().virial, three.engine.energies().virial);
  const auto& forces = three.engine.forces();
  ASSERT_EQ(forces.n_groups(), 3u);
  const auto n_owned = 3 * index(three.engine.domain().n_owned_slots());
  for (std::size_t i = 0; i < n_owned; ++i) {
    ASSERT_EQ(forces.total()[i], one.engine.forces().total()[i]);
    ASSERT_EQ(forces.total()[i], forces.of_group(0)[i] + forces.of_group(1)[i] + forces.of_group(2)[i]);
  }
  const auto& virial = three.engine.energies().group_virial;
  ASSERT_EQ(virial.size(), 3u);
  for (std::size_t c = 0; c < 6; ++c)
    EXPECT_NEAR(virial[0][c] + virial[1][c] + virial[2][c], three.engine.energies().virial[c], 1e-6);
}

/// Reversible reference system propagation with two times: the mesh acts in every second step.
/// M. Tuckerman et al., J. Chem. Phys. 97, 1990 (1992), doi:10.1063/1.463137.
class TwoTimes final : public integrate::Integrator {
 public:
  static constexpr std::size_t fast = 0, slow = 1;  // groups
  static constexpr std::int64_t n_inner = 2;

  integrate::Failure before_forces(integrate::Motion& motion) override {
    const auto& forces = motion.forces();
    const double half = 0.5 * motion.timestep();
    integrate::Failure failure;
    if ((motion.step() - 1) % n_inner == 0)
      failure.offer(motion.kick_and_project(n_inner * half, forces.of_group(slow), false));
    failure.offer(motion.kick_and_drift(half, motion.timestep(), forces.of_group(fast)));
    return failure;
  }
  integrate::Failure after_forces(integrate::Motion& motion, bool with_virial) override {
    const auto& forces = motion.forces();
    const double half = 0.5 * motion.timestep();
    auto failure = motion.kick_and_project(half, forces.of_group(fast), with_virial);
    if (motion.step() % n_inner == 0)
      failure.offer(motion.kick_and_project(n_inner * half, forces.of_group(slow), false));
    return failure;
  }
  GroupSet due_groups(std::int64_t step) const override {
    GroupSet due;
    due[fast] = true;
    due[slow] = step % n_inner == 0;
    return due;
  }
  std::int64_t removed_degrees_of_freedom() const override { return 0; }
};

EngineSettings two_groups() {
  auto s = settings(false, false);
  s.force_groups.group_of = {TwoTimes::fast, TwoTimes::fast, TwoTimes::slow, TwoTimes::fast};
  s.timestep = 0.0005;
  return s;
}

struct End {
  std::vector<Particle> atoms;  // by id
  double drift = 0;             // of the total energy, kcal/mol
};

/// Runs 120 steps; energies, where asked for at other times than the slow forces', must change nothing.
End run_two_times(int n_ranks, int energies_every) {
  const auto& sample = warm_water(false);
  End end;
  std::mutex mutex;
  comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads(2);
    const auto s = two_groups();
    Engine engine(sample.system, s, plan_for_ranks(sample.system, s, sample.system.box, comm, threads), comm, threads,
                  std::make_unique<TwoTimes>());
    auto start = snapshot_of(sample);
    if (!comm.is_root()) start.atoms.clear();
    engine.set_state(start);
    engine.measure();
    const double first = engine.energies().total();
    for (int i = 1; i <= 120; ++i) engine.step(i % energies_every == 0);
    const auto own = engine.snapshot();
    const std::lock_guard lock(mutex);
    end.atoms.insert(end.atoms.end(), own.atoms.begin(), own.atoms.end());
    end.drift = engine.energies().total() - first;
  });
  std::sort(end.atoms.begin(), end.atoms.end(), [](const auto& p, const auto& q) { return p.id < q.id; });
  return end;
}

// Slow forces are computed in the steps that need them alone: in others they keep their values.
TEST(ForceGroups, AreComputedWhenDue) {
  const auto& sample = warm_water(false);
  const auto comm = comm::Communicator::world();
  ThreadPool threads;
  const auto s = two_groups();
  Engine engine(sample.system, s, plan_for_ranks(sample.system, s, sample.system.box, comm, threads), comm, threads,
                std::make_unique<TwoTimes>());
  engine.set_state(snapshot_of(sample));
  engine.measure();
  auto before = engine.forces().of_group(TwoTimes::slow);
  engine.step(false);
  EXPECT_EQ(engine.forces().of_group(TwoTimes::slow), before);
  engine.step(false);
  EXPECT_NE(engine.forces().of_group(TwoTimes::slow), before);
  before = engine.forces().of_group(TwoTimes::slow);
  engine.step(true);
  EXPECT_NE(engine.forces().of_group(TwoTimes::slow), before) << "energies need all forces";
}

TEST(ForceGroups, AtTwoTimesConserveEnergyAndBits) {
  const auto one = run_two_times(1, 120), three = run_two_times(3, 3);
  Simulation verlet(warm_water(false), two_groups());
  const double first = verlet.engine.energies().total();
  verlet.advance(120, true);
  // Shadow energies of both are those of the same time step but for the slow forces, which change little in it.
  EXPECT_NEAR(one.drift, verlet.engine.energies().total() - first, 0.02);
  ASSERT_EQ(one.atoms.size(), three.atoms.size());
  for (std::size_t i = 0; i < one.atoms.size(); ++i) {
    ASSERT_TRUE(one.atoms[i].position + one.atoms[i].displacement ==
                three.atoms[i].position + three.atoms[i].displacement);
    ASSERT_EQ(one.atoms[i].velocity, three.atoms[i].velocity);
  }
}

}  // namespace
}  // namespace tessera::md
