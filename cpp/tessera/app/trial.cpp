#include "tessera/app/trial.h"

#include <algorithm>
#include <chrono>

#include "tessera/app/engine_settings.h"

namespace tessera::app {

Trial run_trial(const RunConfig& config, const model::System& system, const md::EngineSettings& settings,
                const CoordinateBlock& block, const comm::Communicator& comm, ThreadPool& threads, int steps) {
  md::Engine engine(system, settings, comm, threads);
  auto particles = make_particles(block);
  for (auto& particle : particles) particle.velocity = {};
  engine.set_state(std::move(particles), 0, 0);
  engine.constrain_start();
  engine.generate_velocities(config.dynamics.temperature, static_cast<std::uint64_t>(config.dynamics.seed));
  engine.measure();
  engine.step(false);
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) engine.step(false);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  comm.all_reduce_max(std::span(&seconds, 1));
  return {seconds / steps, engine.memory()};
}

std::vector<SchemeTrial> try_pair_schemes(const RunConfig& config, const model::System& system,
                                          md::EngineSettings settings, const CoordinateBlock& block,
                                          const comm::Communicator& comm, ThreadPool& threads) {
  constexpr int steps = 15;  // about one sort
  std::vector<SchemeTrial> trials;
  for (const auto& scheme : md::pair::pair_schemes()) {
    // Schemes of more precision than asked for are no rivals.
    if (scheme.in_double != settings.double_precision ||
        !scheme.serves(settings.double_precision, settings.pair.function))
      continue;
    settings.pair_scheme = scheme.name;
    const auto trial = run_trial(config, system, settings, block, comm, threads, steps);
    trials.push_back({settings.pair_scheme, 1000 * trial.seconds_a_step});
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [](const auto& a, const auto& b) { return a.ms_a_step < b.ms_a_step; });
  return trials;
}

}  // namespace tessera::app
