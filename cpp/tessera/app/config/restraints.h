// The restraints and the fixed atoms that a run file asks for.
#pragma once

#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/md/settings.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Throws InputError where keys contradict each other or the system.
std::vector<md::restraint::RestraintSettings> restraint_settings(const RunConfig& config, const model::System& system);
/// Returns the atoms that do not move. Throws InputError where they contradict other keys or the system.
model::AtomSet fixed_atoms(const RunConfig& config, const model::System& system);

/// Describes them in a line each, with the atoms of selections; empty where there are none.
std::string describe_restraints(const RunConfig& config, const md::EngineSettings& settings);

}  // namespace tessera::app
