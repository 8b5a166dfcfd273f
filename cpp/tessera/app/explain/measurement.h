// A step of a run that is planned, measured on this machine.
#pragma once

#include <optional>
#include <string>

#include "tessera/app/config/run_config.h"
#include "tessera/app/explain/step_prediction.h"
#include "tessera/app/trial.h"
#include "tessera/md/settings.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// A step that was measured, or why none could be.
struct Measurement {
  std::optional<MeasuredStep> step{};
  double start_seconds = 0;  // to read coordinates and to make ready for the first step; 0: not known
  std::string problem{};
};

/// Returns what decides how long a step takes: all settings but how long a run is, what it writes, and how hot its
/// baths and how strong its restraints are.
std::string settings_of_rate(const RunConfig& config, const md::EngineSettings& settings);

/// Measures a step with so many threads. A part of a large system is enough, because the time grows with the atoms.
/// `is_below_others`: stages that have not run yet will move the atoms, so that it is no error where they stand so that
/// no step can be made; a short minimisation is tried first. Throws InputError and RunError.
Measurement measure_step(const TrialLength& length, int threads, const RunConfig& config, const model::System& system,
                         const md::EngineSettings& settings, bool is_below_others);

}  // namespace tessera::app
