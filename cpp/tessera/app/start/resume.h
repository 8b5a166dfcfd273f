// Going on from a checkpoint: whether it fits, and what of its choices a run keeps.
#pragma once

#include <string>

#include "tessera/app/restart/checkpoint.h"

namespace tessera::app {

/// Reads the newest good checkpoint of a folder, with this rank's share of the atoms. `settings` get the split of
/// Ewald's sum that its run began with, unless the configuration names another. `note`, on the root, is what
/// there is to say. Throws InputError where it is of another run. Collective.
Checkpoint resume(const std::string& folder, const RunConfig& config, const model::System& system,
                  const comm::Communicator& comm, md::EngineSettings& settings, std::string& note);

/// Describes in which settings that decide bits a run differs from that of a checkpoint; empty where in none.
/// `settings` get the choices that the other run made, as in resume(). A rank may call it alone.
std::string compare_settings(const Checkpoint& checkpoint, const RunConfig& config, const model::System& system,
                             md::EngineSettings& settings);

}  // namespace tessera::app
