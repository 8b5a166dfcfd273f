// Tests the dynamics of a small box of water: the quantities that a step must conserve.
#include "tessera/md/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md {
namespace {

using tessera::test::expect_says, tessera::test::message_of;
using namespace test;

bool are_equal(const std::vector<Particle>& p, const std::vector<Particle>& q) {
  return p.size() == q.size() && std::equal(p.begin(), p.end(), q.begin(), [](const auto& a, const auto& b) {
           return a.id == b.id && a.position == b.position && a.velocity == b.velocity &&
                  a.displacement == b.displacement;
         });
}

Vec3 momentum(const Simulation& run) {
  Vec3 sum;
  for (const auto& p : run.state()) {
    const double mass = run.system.templates[0].mass[index(run.system.find(p.id).local)] * velocity_unit;
    sum += mass * Vec3{double(p.velocity.x), double(p.velocity.y), double(p.velocity.z)};
  }
  return sum;
}

/// Returns standard deviation and drift (last quarter minus first) of the total energy over a time (ps), kcal/mol.
std::array<double, 2> energy_spread(const test::Sample& sample, EngineSettings s, double timestep, double time) {
  s.timestep = timestep;
  Simulation run(sample, s);
  const int n = static_cast<int>(std::lround(time / timestep));
  double sum = 0, sum2 = 0, first = 0, last = 0;
  const double start = run.engine.energies().total();
  for (int i = 0; i < n; ++i) {
    run.engine.step(true);
    const double e = run.engine.energies().total() - start;
    sum += e / n;
    sum2 += e * e / n;
    if (i < n / 4) first += 4 * e / n;
    if (i >= n - n / 4) last += 4 * e / n;
  }
  return {std::sqrt(sum2 - sum * sum), last - first};
}

// 216 waters at 300 K have about 390 kcal/mol of kinetic energy.
TEST(Engine, ConservesEnergy) {
  for (const bool rigid : {true, false})
    for (const bool double_precision : {true, false}) {
      if (double_precision && !rigid) continue;  // slow; the second order is tested below
      SCOPED_TRACE(rigid ? "rigid" : "flexible");
      const auto [spread, drift] = energy_spread(warm_water(rigid), settings(rigid, double_precision), 0.001, 0.2);
      EXPECT_LT(spread, rigid ? 1.0 : 2.5) << "double " << double_precision;
      EXPECT_LT(std::abs(drift), 0.5) << "double " << double_precision;
      EXPECT_GT(spread, 1e-4) << "nothing moves";
    }
}

// The energy error of velocity Verlet is proportional to the square of the time step.
TEST(Engine, EnergyErrorIsOfSecondOrder) {
  auto s = settings(false, true);
  s.pair.alpha = 0.55;  // avoids a jump at the cut-off
  const double coarse = energy_spread(warm_water(false), s, 0.001, 0.06)[0];
  const double fine = energy_spread(warm_water(false), s, 0.0005, 0.06)[0];
  EXPECT_GT(coarse / fine, 2.5);
  EXPECT_LT(coarse / fine, 6);
}

TEST(Engine, RunsBackwardsToWhereItStarted) {
  for (const bool rigid : {true, false}) {
    const auto& sample = warm_water(rigid);
    Simulation forwards(sample, settings(rigid, true));
    forwards.advance(50);
    test::Sample turned = sample;
    turned.particles = forwards.state();
    for (auto& p : turned.particles) {
      p.position = p.position + p.displacement;
      p.displacement = {};
      p.velocity = {-p.velocity.x, -p.velocity.y, -p.velocity.z};
    }
    Simulation backwards(turned, settings(rigid, true));
    backwards.advance(50);
    double worst = 0, moved = 0;
    const auto end = backwards.state();
    for (std::size_t i = 0; i < end.size(); ++i) {
      const auto to = end[i].position + end[i].displacement;
      worst = std::max(worst, norm(sample.system.box.displacement(sample.particles[i].position, to)));
      moved = std::max(
          moved, norm(sample.system.box.displacement(sample.particles[i].position, turned.particles[i].position)));
    }
    EXPECT_GT(moved, 0.2);
    EXPECT_LT(worst, 1e-5) << (rigid ? "rigid" : "flexible");
  }
}

TEST(Engine, KeepsMomentum) {
  auto s = settings(true, false);
  s.pair.electrostatics = pair::Electrostatics::shift;
  Simulation pairs(warm_water(true), s);
  const Vec3 start = momentum(pairs);
  pairs.advance(100);
  EXPECT_LT(norm(momentum(pairs) - start), 0.05);
  // The mesh's net force is not removed (pme.h); on this coarse mesh it is a tenth of a kcal/mol/Å. The total mass is
  // 3890.
  s = settings(true, false);
  Simulation meshed(warm_water(true), s);
  meshed.advance(100);
  EXPECT_LT(norm(momentum(meshed) - start), 10);
  s.com_removal_every = 10;
  Simulation held(warm_water(true), s);
  held.advance(100);
  EXPECT_LT(norm(momentum(held)), 216 * 18 * velocity_unit);
}

void expect_rigid_waters(const Simulation& run) {
  const auto state = run.state();
  const auto& box = run.system.box;
  for (std::size_t m = 0; m < 216; ++m) {
    std::array<Fraction, 3> x;
    for (std::size_t k = 0; k < 3; ++k) x[k] = state[3 * m + k].position + state[3 * m + k].displacement;
    EXPECT_NEAR(norm(box.displacement(x[0], x[1])), 0.9572, 2e-6);
    EXPECT_NEAR(norm(box.displacement(x[0], x[2])), 0.9572, 2e-6);
    EXPECT_NEAR(norm(box.displacement(x[1], x[2])), 1.5139, 2e-6);
  }
}

TEST(Engine, RigidWatersStayRigid) {
  Simulation run(warm_water(true), settings(true, false));
  run.advance(100);
  expect_rigid_waters(run);
}

TEST(Engine, WatersOfUnequalHydrogensStayRigidAndKeepTheirEnergy) {
  auto sample = warm_water(true);
  sample.system.templates[0].mass[2] = 2.014;
  auto s = settings(true, true);
  s.timestep = 0.0005;
  Simulation run(sample, s);
  const double start = run.engine.energies().total();
  run.advance(200, true);
  run.engine.sum_energies();
  EXPECT_NEAR(run.engine.energies().total(), start, 1);
  expect_rigid_waters(run);
}

TEST(Engine, RestartsOnTheSameTrajectory) {
  for (const bool rigid : {true, false})
    for (const int before : {3, 17}) {
      Simulation whole(warm_water(rigid), settings(rigid, false));
      whole.advance(before);
      test::Sample saved = warm_water(rigid);
      saved.particles = whole.engine.snapshot().atoms;
      std::reverse(saved.particles.begin(), saved.particles.end());
      Simulation again(saved, settings(rigid, false), 2, whole.engine.current_step(), whole.engine.state().last_search);
      ASSERT_TRUE(are_equal(whole.state(), again.state()));
      whole.advance(25);
      again.advance(25);
      EXPECT_TRUE(are_equal(whole.state(), again.state())) << "restarted at step " << before;
      EXPECT_EQ(whole.engine.state().last_search, again.engine.state().last_search);
    }
}

TEST(Engine, TheSameBitsOnAnyThreads) {
  for (const bool double_precision : {false, true}) {
    Simulation one(warm_water(true), settings(true, double_precision), 1);
    one.advance(20);
    one.advance(1, true);
    for (const int threads : {2, 3}) {
      Simulation many(warm_water(true), settings(true, double_precision), threads);
      many.advance(20);
      many.advance(1, true);
      EXPECT_TRUE(are_equal(one.state(), many.state())) << threads << " threads";
      EXPECT_EQ(one.engine.energies().term, many.engine.energies().term);
      EXPECT_EQ(one.engine.energies().virial, many.engine.energies().virial);
      EXPECT_EQ(one.engine.energies().kinetic, many.engine.energies().kinetic);
    }
  }
}

TEST(Engine, EnergiesDoNotChangeTheTrajectory) {
  Simulation with(warm_water(true), settings(true, false)), without(warm_water(true), settings(true, false));
  with.advance(15, true);
  without.advance(15, false);
  EXPECT_TRUE(are_equal(with.state(), without.state()));
}

TEST(Engine, GeneratesVelocitiesAtTheTemperature) {
  Simulation run(warm_water(true), settings(true, false));
  run.engine.generate_velocities(350, 11);
  run.engine.compute_forces(true);
  run.engine.sum_energies();
  EXPECT_NEAR(run.engine.energies().temperature, 350, 1e-2);
  EXPECT_EQ(run.engine.degrees_of_freedom(), 3 * 648 - 3 * 216);  // the motion of the centre of mass is not removed
  EXPECT_LT(norm(momentum(run)), 216 * 18 * velocity_unit);
}

TEST(Engine, ForcesAreMinusTheGradientOfTheEnergy) {
  auto s = settings(false, true);
  s.pair.alpha = 0.625;  // erfc(5): no jump at the cut-off
  const auto& sample = warm_water(false);
  Simulation run(sample, s);
  std::vector<Vec3> force;
  for (std::int64_t id = 0; id < sample.system.n_atoms(); ++id)
    force.push_back(run.engine.force(run.engine.domain().slot_of(id)));
  const auto energy = [&](std::size_t atom, const Vec3& by) {
    auto moved = test::snapshot_of(sample);
    moved.atoms[atom].position = moved.atoms[atom].position + sample.system.box.fraction(by);
    run.engine.set_state(moved);
    run.engine.compute_forces(true);
    run.engine.sum_energies();
    return run.engine.energies().potential();
  };
  for (const std::size_t atom : {0u, 1u, 100u, 302u, 645u})
    for (int d = 0; d < 3; ++d) {
      const auto along = [&](double h) { return Vec3{d == 0 ? h : 0, d == 1 ? h : 0, d == 2 ? h : 0}; };
      const auto central = [&](double h) { return (energy(atom, along(-h)) - energy(atom, along(h))) / (2 * h); };
      const double expected = (4 * central(1e-3) - central(2e-3)) / 3;
      const double found = d == 0 ? force[atom].x : d == 1 ? force[atom].y : force[atom].z;
      EXPECT_NEAR(found, expected, 2e-4 * (1 + 0.01 * norm(force[atom]))) << "atom " << atom << ", component " << d;
    }
}

// For flexible water without constraints 3V·(P − P_kinetic) is −dU/d(ln scale), scaling positions and box together.
TEST(Engine, VirialIsTheDerivativeByTheVolume) {
  auto s = settings(false, true);
  s.pair.alpha = 0.625;
  s.pme_grid = {32, 32, 32};
  const auto& sample = warm_water(false);
  const auto energy = [&](double scale) {
    auto scaled = sample;
    const double edge = 18.7 * scale;
    scaled.system.box = orthorhombic(edge, edge, edge);  // positions are fractions, so they scale too
    return Simulation(scaled, s).engine.energies();
  };
  const auto here = energy(1);
  const double h = 2e-4;
  const double expected = -(8 * (energy(1 + h).potential() - energy(1 - h).potential()) -
                            (energy(1 + 2 * h).potential() - energy(1 - 2 * h).potential())) /
                          (12 * h);
  const double found = here.virial[0] + here.virial[1] + here.virial[2];
  EXPECT_NEAR(found, expected, 2e-4 * std::abs(expected) + 0.05);
  EXPECT_GT(std::abs(expected), 10);
}

TEST(Engine, RanksAreOneRankBitForBit) {
  const auto& sample = warm_water(true);
  constexpr int n_steps = 40;
  Simulation alone(sample, settings(true, false));
  alone.advance(n_steps);
  std::vector<Particle> found;
  std::mutex mutex;
  comm::run_ranks(4, [&](const comm::Communicator& comm) {
    ThreadPool threads;
    auto engine = make_engine(sample.system, settings(true, false), comm, threads);
    auto start = test::snapshot_of(sample);
    if (!comm.is_root()) start.atoms.clear();
    engine.set_state(start);
    engine.compute_forces(false);
    for (int i = 0; i < n_steps; ++i) engine.step(false);
    const std::lock_guard lock(mutex);
    for (const auto& p : engine.snapshot().atoms) found.push_back(p);
  });
  std::sort(found.begin(), found.end(), [](const auto& p, const auto& q) { return p.id < q.id; });
  const auto expected = alone.state();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].position + found[i].displacement, expected[i].position + expected[i].displacement);
    EXPECT_EQ(found[i].velocity, expected[i].velocity);
  }
}

/// Runs water with two ions that are almost at the same place from step 41 on, and checks the message of the failure.
void expect_blow_up(bool double_precision) {
  auto sample = make_water(true);
  auto& system = sample.system;
  system.force_field.type_name.push_back("SOD");
  system.force_field.type_lj.push_back({2.5, 0.05});
  system.templates.push_back(test::molecule("SOD", {"SOD"}, {2}, {1}, {22.99}));
  system.set_instances({{0, 215}, {1, 2}});
  sample.particles.resize(645);  // the last water is replaced
  const Vec3 centre = (18.7 / 6) * Vec3{5.5, 5.5, 5.5};
  for (const double x : {0.0, 0.3}) {
    Particle p;
    p.id = static_cast<std::int64_t>(sample.particles.size());
    p.position = system.box.fraction(centre + Vec3{x, 0, 0});
    sample.particles.push_back(p);
  }
  Simulation run(sample, settings(true, double_precision), 1, 41, 40);
  const auto text = message_of<RunError>([&] { run.advance(5); });
  expect_says(text, "step 42");
  expect_says(text, text.find("atom 646") < text.size() ? "atom 646 (SOD SOD, molecule 216)"
                                                        : "atom 647 (SOD SOD, molecule 217)");
  expect_says(text, "is lj");
  expect_says(text, "blown up");
}

TEST(Engine, BlowUpNamesAtomTermAndStep) { expect_blow_up(true); }

TEST(Engine, BlowUpInSinglePrecision) { expect_blow_up(false); }

TEST(Engine, RefusesACutoffOverHalfTheBox) {
  auto s = settings(true, false);
  s.pair.cutoff = 9.4;
  const auto sample = make_water(true);
  expect_says(message_of<InputError>([&] { plan_cells(summary_of(sample.system), s, sample.system.box); }), "9.350");
}

}  // namespace
}  // namespace tessera::md
