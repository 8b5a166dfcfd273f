// Provides boxes of water for the tests of md, and a simulation of one without files.
#pragma once

#include <algorithm>

#include "tessera/md/engine.h"
#include "tessera/md/test_support/systems.h"

namespace tessera::md::test {

inline model::Template tip3p(bool rigid) {
  auto water = molecule("WAT", {"O", "H1", "H2"}, {0, 1, 1}, {-0.834, 0.417, 0.417}, {15.9994, 1.008, 1.008});
  water.rigid_water = rigid;
  water.water_oh = 0.9572;
  water.water_hh = 1.5139;
  water.terms[model::bond] = {{{0, 1}, {0, 2}}, {0, 0}};
  water.terms[model::angle] = {{{1, 0, 2}}, {0}};
  exclude_all(water);
  return water;
}

/// Returns 216 waters on a lattice, each in a random orientation.
inline Sample make_water(bool rigid) {
  Sample sample;
  auto& system = sample.system;
  system.box = orthorhombic(18.7, 18.7, 18.7);
  system.force_field.coulomb_constant = 332.0637;
  system.force_field.type_name = {"OT", "HT"};
  system.force_field.type_lj = {{3.1507, 0.1521}, {0.4, 0.046}};
  system.force_field.parameters[model::bond] = {{450, 0.9572}};
  system.force_field.parameters[model::angle] = {{55, 104.52 * 3.14159265358979 / 180}};
  system.templates = {tip3p(rigid)};
  system.set_instances({{0, 216}});
  std::mt19937_64 random(5);
  const double half = 0.5 * 1.5139, height = std::sqrt(0.9572 * 0.9572 - half * half);
  for (int m = 0; m < 216; ++m) {
    const Vec3 centre = (18.7 / 6) * Vec3{m / 36 + 0.5, m / 6 % 6 + 0.5, m % 6 + 0.5};
    const Vec3 u = random_direction(random);
    Vec3 v = random_direction(random);
    v -= dot(u, v) * u;
    v *= 1 / norm(v);
    for (const auto& r : {centre, centre + height * u + half * v, centre + height * u - half * v}) {
      Particle p;
      p.id = static_cast<std::int64_t>(sample.particles.size());
      p.position = system.box.fraction(r);
      sample.particles.push_back(p);
    }
  }
  return sample;
}

inline EngineSettings settings(bool rigid, bool double_precision) {
  EngineSettings s;
  s.pair.cutoff = 8;
  s.pair.switch_distance = 6.5;
  s.pair.lj = pair::LjModifier::force_switch;
  s.pair.electrostatics = pair::Electrostatics::pme;
  s.pair.alpha = 0.39;
  s.pair.coulomb_constant = 332.0637;
  s.pme_order = 4;
  s.pme_grid = {20, 20, 20};
  s.buffer = 1;
  s.search_every = 10;
  s.precision = double_precision ? pair::Precision::double_precision : pair::Precision::mixed;
  s.constraints = rigid ? constraint::ConstraintMode::h_bonds : constraint::ConstraintMode::none;
  s.timestep = 0.001;
  s.com_removal_every = 0;
  return s;
}

inline Engine make_engine(const model::System& system, const EngineSettings& s, const comm::Communicator& comm,
                          ThreadPool& threads) {
  return Engine(system, s, plan_for_ranks(system, s, system.box, comm, threads), comm, threads);
}

struct Simulation {
  model::System system;
  comm::Communicator comm = comm::Communicator::world();
  ThreadPool threads;
  Engine engine;

  Simulation(const Sample& sample, const EngineSettings& s, int n_threads = 1, std::int64_t step = 0,
             std::int64_t last_search = 0)
      : system(sample.system), threads(n_threads), engine(make_engine(system, s, comm, threads)) {
    engine.set_state(snapshot_of(sample, step, last_search));
    engine.compute_forces(true);
    engine.sum_energies();
  }
  void advance(int n, bool with_energies = false) {
    for (int i = 0; i < n; ++i) engine.step(with_energies);
  }
  /// Returns positions and velocities of the atoms, by id.
  std::vector<Particle> state() const {
    auto particles = engine.snapshot().atoms;
    std::sort(particles.begin(), particles.end(), [](const auto& p, const auto& q) { return p.id < q.id; });
    return particles;
  }
};

/// Returns water at about 300 K without close contacts; it is made once for each kind.
inline const Sample& warm_water(bool rigid) {
  static const auto make = [](bool is_rigid) {
    auto sample = make_water(is_rigid);
    auto s = settings(is_rigid, false);
    s.timestep = 0.0005;
    Simulation run(sample, s);
    for (int i = 0; i < 15; ++i) {
      run.engine.generate_velocities(300, 1);
      run.advance(40);
    }
    run.engine.generate_velocities(300, 2);
    run.advance(20);
    sample.particles = run.state();
    for (auto& p : sample.particles) {
      p.position = p.position + p.displacement;
      p.displacement = {};
    }
    return sample;
  };
  if (rigid) {
    static const Sample water = make(true);
    return water;
  }
  static const Sample water = make(false);
  return water;
}

}  // namespace tessera::md::test
