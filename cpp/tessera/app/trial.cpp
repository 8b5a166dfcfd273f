#include "tessera/app/trial.h"

#include <algorithm>
#include <chrono>

#include "tessera/app/engine_settings.h"
#include "tessera/app/simulation.h"
#include "tessera/base/error.h"

namespace tessera::app {

namespace {

constexpr int trial_steps = 15;  // about one sort

}  // namespace

RunConfig config_of_trial(RunConfig config) {
  config.dynamics.velocities = Velocities::generate;
  return config;
}

TrialTime time_steps(Simulation& simulation, const CoordinateBlock& block, const TrialLength& length) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const auto begin = Clock::now();
  simulation.start(block);
  TrialTime time{.start_seconds = seconds_since(begin)};
  simulation.step(1, false);
  simulation.timers().reset();
  const auto start = Clock::now();
  do {
    const int steps = std::min(length.least, length.most - time.steps);
    simulation.step(steps, false);
    time.steps += steps;
    time.seconds = seconds_since(start);
    simulation.comm().all_reduce_max(std::span(&time.seconds, 1));
  } while (time.seconds < length.seconds && time.steps < length.most);
  time.phases = simulation.timers().seconds();
  time.seconds /= time.steps;
  for (double& phase : time.phases) phase /= time.steps;
  return time;
}

TrialTime run_trial(const RunConfig& config, const model::System& system, const md::EngineSettings& settings,
                    const CoordinateBlock& block, const comm::Communicator& comm, ThreadPool& threads, int steps) {
  Simulation simulation(system, config_of_trial(config), settings, comm, threads);
  return time_steps(simulation, block, TrialLength::of(steps));
}

bool may_choose_split(const RunConfig& config) {
  return config.interactions.electrostatics == Electrostatics::pme && config.pme.cutoff == 0 && config.pme.alpha == 0 &&
         config.pme.grid.empty();
}

md::EngineSettings with_split(const RunConfig& config, const model::System& system, const md::pme::Split& split) {
  auto changed = config;
  changed.pme.cutoff = split.cutoff;
  changed.pme.grid.assign(split.grid.begin(), split.grid.end());
  return plan_settings(changed, system);
}

std::vector<SplitTrial> try_splits(const RunConfig& config, const model::System& system,
                                   const md::EngineSettings& settings, const CoordinateBlock& block,
                                   const comm::Communicator& comm, ThreadPool& threads) {
  constexpr double widest = 1.7, hopeless = 1.2, near = 1.15;  // of the first cut-off, of the best time
  const auto time = [&](const md::pme::Split& split) {
    const auto its_settings = with_split(config, system, split);
    return 1000 * run_trial(config, system, its_settings, block, comm, threads, trial_steps).seconds;
  };
  const md::pme::Split first{settings.pair.range(), settings.pme_grid};
  std::vector<SplitTrial> trials{{first, time(first)}};
  double best = trials.front().ms_a_step;
  for (const auto& split : md::pme::coarser_splits(first, system.box.edges(), widest * first.cutoff)) {
    try {
      trials.push_back({split, time(split)});
    } catch (const InputError&) {
      break;  // the box is too small for it, or has too few cells for the ranks: on every rank
    }
    if (trials.back().ms_a_step > hopeless * best) break;
    best = std::min(best, trials.back().ms_a_step);
  }
  // What else a machine does comes and goes: those near the best run again, in turn, and each keeps its best time.
  for (int again = 0; again < 2; ++again)
    for (auto& trial : trials) {
      if (trial.ms_a_step > near * best) continue;
      trial.ms_a_step = std::min(trial.ms_a_step, time(trial.split));
      best = std::min(best, trial.ms_a_step);
    }
  std::stable_sort(trials.begin(), trials.end(),
                   [](const auto& a, const auto& b) { return a.ms_a_step < b.ms_a_step; });
  return trials;
}

}  // namespace tessera::app
