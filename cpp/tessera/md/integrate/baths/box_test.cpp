// Tests a box that changes in a run, as barostats require.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/test_support/barostat.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md {
namespace {

using namespace test;

/// Returns the energies by term of a state, computed without the steps that led to it.
Energies energies_of(const model::System& system, const EngineSettings& s, const Snapshot& snapshot) {
  const auto comm = comm::Communicator::world();
  ThreadPool threads;
  auto engine = make_engine(system, s, comm, threads);
  engine.set_state(snapshot);
  engine.measure();
  return engine.energies();
}

void expect_equal(const Course& found, const Course& expected) {
  EXPECT_TRUE(found.end.box == expected.end.box);
  EXPECT_EQ(found.cells, expected.cells);
  EXPECT_EQ(found.energies.term, expected.energies.term);
  ASSERT_EQ(found.end.atoms.size(), expected.end.atoms.size());
  for (std::size_t i = 0; i < found.end.atoms.size(); ++i) {
    const auto &p = found.end.atoms[i], &q = expected.end.atoms[i];
    ASSERT_TRUE(p.id == q.id && p.position == q.position && p.velocity == q.velocity &&
                p.displacement == q.displacement);
  }
}

// Each step changes the box. The end must agree with a start from there, on any ranks, even if the number of cells
// changes on the way.
TEST(Box, MayChangeInEveryStep) {
  const auto& sample = warm_water(true);
  auto s = settings(true, false);
  s.list_steps = 3;
  for (const double bar : {4000., -4000.}) {
    SCOPED_TRACE(bar);
    const auto alone = run_with_barostat(sample.system, s, snapshot_of(sample), bar, 1, 60);
    const double edge = alone.end.box.edges()[0];
    EXPECT_GT(std::abs(edge - 18.7), 0.05);
    const auto fresh = energies_of(sample.system, s, alone.end);
    EXPECT_EQ(alone.energies.term, fresh.term);
    EXPECT_EQ(alone.energies.kinetic, fresh.kinetic);
    for (const int ranks : {3, 4})
      expect_equal(run_with_barostat(sample.system, s, snapshot_of(sample), bar, ranks, 60), alone);
  }
}

TEST(Box, ScalingKeepsConstraints) {
  const auto course =
      run_with_barostat(warm_water(true).system, settings(true, false), snapshot_of(warm_water(true)), 4000, 1, 20);
  const auto& [box, atoms] = std::pair(course.end.box, course.end.atoms);
  for (std::size_t m = 0; m < 216; ++m) {
    std::array<Fraction, 3> x;
    for (std::size_t k = 0; k < 3; ++k) x[k] = atoms[3 * m + k].position + atoms[3 * m + k].displacement;
    EXPECT_NEAR(norm(box.displacement(x[0], x[1])), 0.9572, 2e-6);
    EXPECT_NEAR(norm(box.displacement(x[1], x[2])), 1.5139, 2e-6);
  }
}

// A Monte-Carlo move needs this: after a refused move everything is as before, to the bit.
TEST(Box, ASnapshotBringsEverythingBack) {
  Simulation run(warm_water(true), settings(true, false)), other(warm_water(true), settings(true, false));
  run.advance(13, true);
  const auto kept = run.engine.snapshot();
  auto tried = kept;
  tried.box = orthorhombic(18.4, 18.9, 18.8);
  search_here(tried);
  run.engine.set_state(tried);
  run.engine.measure();
  const double energy_tried = run.engine.energies().potential();
  run.engine.set_state(kept);
  run.engine.measure();
  EXPECT_NE(run.engine.energies().potential(), energy_tried);
  other.advance(13, true);
  run.advance(20, true);
  other.advance(20, true);
  EXPECT_EQ(run.engine.energies().term, other.engine.energies().term);
  EXPECT_EQ(run.engine.energies().kinetic, other.engine.energies().kinetic);
}

/// Velocity Verlet that tries another box every three steps, and takes none.
class Refusing final : public integrate::Integrator {
 public:
  Refusing(const EngineSettings& settings, double scale)
      : inner_(integrate::integrator("velocity-verlet").make(settings)), scale_(scale) {}

  integrate::Failure before_forces(integrate::Motion& motion) override { return inner_->before_forces(motion); }
  integrate::Failure after_forces(integrate::Motion& motion, bool with_virial) override {
    return inner_->after_forces(motion, with_virial);
  }
  StepSums needed_sums(std::int64_t step) const override { return step % 3 == 0 ? StepSums::energies : StepSums::none; }
  std::optional<Box> trial_box(integrate::Motion& motion) override {
    if (motion.step() % 3 != 0) return {};
    const auto& box = motion.state().box;
    return Box(scale_ * box.a(), box.b(), (1 / scale_) * box.c());
  }
  bool accepts(integrate::Motion& motion, const Box& /*before*/, double potential) override {
    EXPECT_NE(potential, motion.energies().potential());
    return false;
  }
  std::int64_t removed_degrees_of_freedom() const override { return 0; }

 private:
  std::unique_ptr<integrate::Integrator> inner_;
  double scale_;
};

Course run_refusing(const EngineSettings& s, double scale, int n_ranks) {
  Course course;
  std::mutex mutex;
  const auto& sample = warm_water(true);
  comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads;
    Engine engine(sample.system, s, plan_for_ranks(sample.system, s, sample.system.box, comm, threads), comm, threads,
                  std::make_unique<Refusing>(s, scale));
    auto start = snapshot_of(sample);
    if (!comm.is_root()) start.atoms.clear();
    engine.set_state(start);
    engine.measure();
    for (int i = 0; i < 29; ++i) engine.step(false);
    engine.step(true);
    const auto own = engine.snapshot();
    const std::lock_guard lock(mutex);
    static_cast<GlobalState&>(course.end) = own;
    course.end.atoms.insert(course.end.atoms.end(), own.atoms.begin(), own.atoms.end());
    course.energies = engine.energies();
  });
  std::sort(course.end.atoms.begin(), course.end.atoms.end(), [](const auto& p, const auto& q) { return p.id < q.id; });
  return course;
}

// A refused box leaves no trace. A small change fits the buffer, and a large one needs a search before.
TEST(Box, ARefusedTrialChangesNoBit) {
  const auto s = settings(true, false);
  for (const int groups : {1, 3}) {
    auto in_groups = s;
    if (groups == 3) in_groups.force_groups.group_of = {0, 1, 2, 0};
    const auto tried = run_refusing(in_groups, 1.02, 1);
    Simulation plain(warm_water(true), s);
    plain.advance(29);
    plain.advance(1, true);
    EXPECT_EQ(tried.energies.term, plain.engine.energies().term);
    EXPECT_EQ(tried.energies.kinetic, plain.engine.energies().kinetic);
    EXPECT_TRUE(tried.end.box == warm_water(true).system.box);
  }
  const auto alone = run_refusing(s, 1.07, 1);
  EXPECT_NE(alone.end.last_search, 30) << "no search came before a trial";
  expect_equal(run_refusing(s, 1.07, 3), alone);
}

// Values that a run adds to atoms stay with them through searches and moves to other ranks.
TEST(State, FieldsFollowTheirAtoms) {
  const auto& sample = warm_water(true);
  constexpr int n_steps = 45;
  std::int64_t n_found = 0;
  std::mutex mutex;
  comm::run_ranks(4, [&](const comm::Communicator& comm) {
    ThreadPool threads;
    auto s = settings(true, false);
    s.timestep = 0.004;  // some waters change cells at this step
    auto engine = make_engine(sample.system, s, comm, threads);
    auto start = snapshot_of(sample);
    for (auto& atom : start.atoms) atom.velocity = {atom.velocity.x * 2, atom.velocity.y * 2, atom.velocity.z * 2};
    start.fields = {{"reference", 3, {}}, {"flag", 1, {}}};
    for (const auto& atom : start.atoms) {
      const auto id = static_cast<double>(atom.id);
      for (const double value : {id, id / 3, -id}) start.fields[0].values.push_back(value);
      start.fields[1].values.push_back(id * id);
    }
    if (!comm.is_root()) {
      start.atoms.clear();
      for (auto& field : start.fields) field.values.clear();
    }
    engine.set_state(start);
    engine.measure();
    for (int i = 0; i < n_steps; ++i) engine.step(false);
    const auto own = engine.snapshot();
    const std::lock_guard lock(mutex);
    ASSERT_EQ(own.fields.size(), 2u);
    for (std::size_t i = 0; i < own.atoms.size(); ++i, ++n_found) {
      const auto id = static_cast<double>(own.atoms[i].id);
      ASSERT_EQ(own.fields[0].values[3 * i], id);
      ASSERT_EQ(own.fields[0].values[3 * i + 1], id / 3);
      ASSERT_EQ(own.fields[0].values[3 * i + 2], -id);
      ASSERT_EQ(own.fields[1].values[i], id * id);
    }
  });
  EXPECT_EQ(n_found, sample.system.n_atoms());
}

}  // namespace
}  // namespace tessera::md
