// Short runs of the engine from the start of a run: for predictions, and to choose a split of Ewald's sum by.
#pragma once

#include <array>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/system/system_file.h"
#include "tessera/md/engine.h"
#include "tessera/md/phases.h"
#include "tessera/md/pme/splits.h"

namespace tessera::app {

class Simulation;

/// How many steps a trial has: `least`, and as many more as begin before so many seconds have passed, `most` in all.
struct TrialLength {
  int least = 0, most = 0;
  double seconds = 0;

  static TrialLength of(int steps) { return {steps, steps}; }
};

/// Seconds a step of a trial.
struct TrialTime {
  double seconds = 0;                         // of the slowest rank
  std::array<double, md::n_phases> phases{};  // of this rank
  int steps = 0;                              // that were timed
  double start_seconds = 0;                   // before the first step, of this rank
};

/// Runs steps from this rank's share of the start, with velocities drawn anew. Throws InputError and RunError where the
/// atoms stand so that no step can be made. Collective.
TrialTime time_steps(Simulation& simulation, const CoordinateBlock& block, const TrialLength& length);
/// Returns the settings that simulations of trials have.
RunConfig config_of_trial(RunConfig config);
/// Makes a simulation and does the same. Collective.
TrialTime run_trial(const RunConfig& config, const model::System& system, const md::EngineSettings& settings,
                    const CoordinateBlock& block, const comm::Communicator& comm, ThreadPool& threads, int steps);

struct SplitTrial {
  md::pme::Split split;
  double ms_a_step;
};

/// Returns whether the run file leaves the split between pairs and mesh to its spacing and tolerance.
bool may_choose_split(const RunConfig& config);
/// Returns the settings with another split, and what follows from it.
md::EngineSettings with_split(const RunConfig& config, const model::System& system, const md::pme::Split& split);
/// Tries the settings' split and ever coarser meshes as accurate, until one is clearly slower than the best or the box
/// has no room; returns the fastest first. The same on all ranks. Collective.
std::vector<SplitTrial> try_splits(const RunConfig& config, const model::System& system,
                                   const md::EngineSettings& settings, const CoordinateBlock& block,
                                   const comm::Communicator& comm, ThreadPool& threads);

}  // namespace tessera::app
