// What a system is, in a few bytes: whether a restart goes on with the system that its run began with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/model/system.h"

namespace tessera::app {

/// A checksum of each part of the system file ("forcefield/bond", "templates/charge" of all templates, "box" …): all
/// but coordinates, velocities and the order of blocks. Whatever is added to the system has to be added here.
nlohmann::json fingerprint(const model::System& system);

/// The parts in which two fingerprints differ.
std::vector<std::string> changed_parts(const nlohmann::json& before, const nlohmann::json& now);

}  // namespace tessera::app
