// From what a run file says and the system it names to what the engine needs: every number chosen here and nowhere
// else.
#pragma once

#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

struct SystemSource;

/// Reads the system of a run, with the masses that the run file asks for. Throws InputError.
model::System read_run_system(const SystemSource& source, const RunConfig& config);

/// Plans α, mesh, Coulomb constant and the rest. Throws InputError where the configuration does not fit the system.
md::EngineSettings plan_settings(const RunConfig& config, const model::System& system);
/// Returns the configuration with what these settings chose in place of "auto", and absolute paths: as a run file it
/// gives the same run from anywhere.
RunConfig in_effect(RunConfig config, const md::EngineSettings& settings);

}  // namespace tessera::app
