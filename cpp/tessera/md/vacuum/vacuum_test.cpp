// Tests systems in a vacuum under way: nothing has an image however far it flies, and no bit depends on ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/test_support/systems.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md {
namespace {

using tessera::test::expect_says;
using namespace test;

/// Returns molecules and ions in a cube of 20 Å, each of which flies from the middle at so many Å/ps a Å.
Sample explosion(double rate) {
  auto sample = make_mixture({.box = orthorhombic(20, 20, 20)});
  const auto dense = sample.system.box;
  sample.system.is_periodic = false;
  sample.system.box = orthorhombic(70, 71, 72);
  for (std::size_t i = 0, key = 0; i < sample.particles.size(); ++i) {
    auto& atom = sample.particles[i];
    const auto place = atom.position;
    if (sample.system.find(atom.id).local == 0) key = i;
    const auto& first = i == key ? place : dense.fraction(sample.system.box.cartesian(sample.particles[key].position));
    const Vec3 centre = dense.cartesian(first);
    atom.position = sample.system.box.fraction(centre + dense.displacement(first, place));
    const Vec3 v = (rate / velocity_unit) * centre;
    atom.velocity = {static_cast<std::int32_t>(v.x), static_cast<std::int32_t>(v.y), static_cast<std::int32_t>(v.z)};
  }
  return sample;
}

EngineSettings vacuum_settings(double cutoff, bool double_precision = false) {
  auto s = settings(false, double_precision);
  s.pair.cutoff = cutoff;
  s.pair.lj = pair::LjModifier::cut;
  s.pair.electrostatics = pair::Electrostatics::cut;
  s.timestep = 0.001;
  return s;
}

std::vector<Particle> by_id(std::vector<Particle> atoms) {
  std::sort(atoms.begin(), atoms.end(), [](const auto& p, const auto& q) { return p.id < q.id; });
  return atoms;
}

void expect_equal(const std::vector<Particle>& found, const std::vector<Particle>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].position, expected[i].position) << i;
    ASSERT_EQ(found[i].displacement, expected[i].displacement) << i;
    ASSERT_EQ(found[i].velocity, expected[i].velocity) << i;
  }
}

/// Continues from a state on so many ranks, of which the first has all atoms.
std::vector<Particle> advanced_on(int ranks, const Sample& sample, const EngineSettings& s, const Snapshot& from,
                                  int steps) {
  std::vector<Particle> found;
  std::mutex mutex;
  comm::run_ranks(ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads(ranks == 1 ? 2 : 1);
    auto engine = make_engine(sample.system, s, comm, threads);
    auto start = from;
    if (!comm.is_root()) start.atoms.clear();
    engine.set_state(std::move(start));
    engine.compute_forces(false);
    for (int i = 0; i < steps; ++i) engine.step(false);
    const std::lock_guard lock(mutex);
    for (const auto& p : engine.snapshot().atoms) found.push_back(p);
  });
  return by_id(std::move(found));
}

TEST(Vacuum, HasTheSameBitsOnAnyRanksThroughThreeDoublings) {
  const auto sample = explosion(40);
  for (const bool double_precision : {false, true}) {
    const auto s = vacuum_settings(8, double_precision);
    constexpr int n_steps = 150, n_before = 55;
    Simulation alone(sample, s);
    alone.advance(n_before);
    const auto middle = alone.engine.snapshot();
    EXPECT_GT(middle.box.edges()[0], sample.system.box.edges()[0]);
    alone.advance(n_steps - n_before);
    const auto expected = alone.state();
    EXPECT_GE(alone.engine.state().box.edges()[0], 8 * sample.system.box.edges()[0]);
    EXPECT_LT(alone.engine.state().box.edges()[0], 4096);
    for (const int ranks : double_precision ? std::vector{3} : std::vector{2, 3, 5}) {
      SCOPED_TRACE(ranks);
      expect_equal(advanced_on(ranks, sample, s, snapshot_of(sample), n_steps), expected);
      auto restarted = s;
      restarted.is_replicated = ranks != 3;
      expect_equal(advanced_on(ranks, sample, restarted, middle, n_steps - n_before), expected);
    }
    expect_equal(advanced_on(1, sample, s, middle, n_steps - n_before), expected);
  }
}

/// Compares forces and energies where atoms are with those of all pairs.
void expect_all_pairs(const Simulation& run, const EngineSettings& s) {
  auto system = run.system;
  system.box = run.engine.state().box;
  std::vector<Fraction> places;
  for (const auto& atom : run.state()) places.push_back(atom.position + atom.displacement);
  const auto oracle = all_pairs(system, places, s.pair);
  EXPECT_NEAR(run.engine.energies()[Term::coulomb_real], oracle.real, 1e-6 * oracle.real_size + 1e-5);
  EXPECT_NEAR(run.engine.energies()[Term::lj], oracle.lj, 1e-6 * oracle.lj_size + 1e-5);
}

// Wherever it is, and whatever the cut-off: an image would count.
TEST(Vacuum, CountsEachPairOnce) {
  const auto sample = explosion(40);
  for (const double cutoff : {6.0, 20.0, 33.0, 60.0, 5000.0})
    for (const bool double_precision : {false, true}) {
      SCOPED_TRACE(cutoff);
      const auto s = vacuum_settings(cutoff, double_precision);
      Simulation run(sample, s);
      expect_all_pairs(run, s);
      run.advance(30);
      run.engine.step(true);
      expect_all_pairs(run, s);
    }
}

TEST(Vacuum, HasCellsForAtomsAlone) {
  const auto s = vacuum_settings(8);
  Simulation run(explosion(40), s);
  run.advance(125);
  const auto& domain = run.engine.domain();
  EXPECT_LE(domain.n_cells(), run.system.n_atoms());
  EXPECT_GT(domain.grid().size(), 8 * run.system.n_atoms());
}

// An atom that leaves the longest frame is named; the step ends, so that a checkpoint can be written, and no other
// comes.
TEST(Vacuum, NamesTheAtomThatLeavesIt) {
  auto sample = explosion(0);
  const auto long_frame = orthorhombic(35840, 71, 72);
  for (auto& atom : sample.particles) atom.position = long_frame.fraction(sample.system.box.cartesian(atom.position));
  sample.system.box = long_frame;
  sample.particles.back().position = long_frame.fraction({4470, 0, 0});
  sample.particles.back().velocity.x = static_cast<std::int32_t>(900 / velocity_unit);
  const auto s = vacuum_settings(8);
  Simulation run(sample, s);
  int steps = 0;
  for (; run.engine.beyond_frame().empty() && steps < 2000; ++steps) run.engine.step(false);
  const auto name = sample.system.describe(sample.particles.back().id);
  expect_says(run.engine.beyond_frame(), name);
  const auto& box = run.engine.state().box;
  const auto last = run.state().back();
  EXPECT_GT(box.cartesian(last.position + last.displacement).x, 4096);
  EXPECT_THROW(run.advance(100), RunError);
}

}  // namespace
}  // namespace tessera::md
