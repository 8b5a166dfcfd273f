// Checksums of a system, by which a restart checks that it continues with the system that the run began with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/model/system.h"

namespace tessera::app {

/// Returns a checksum of each part of the system file ("forcefield/bond", "templates/charge" of all templates, "box"
/// …): of all that system_layout.h visits.
nlohmann::json fingerprint(const model::System& system);

/// Returns the parts in which two fingerprints differ.
std::vector<std::string> changed_parts(const nlohmann::json& before, const nlohmann::json& now);

}  // namespace tessera::app
