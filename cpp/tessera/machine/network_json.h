// Reads and writes the network in a machine file; the schema is docs/reference/machine_file.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tessera/machine/network.h"

namespace tessera::machine {

/// Returns "bus", "fabric" or "unknown".
const char* name_of(Medium medium);

nlohmann::json to_json(const Network& network);
/// Throws InputError that names the member, or the one of Network::check. `name` stands for the file in messages.
Network network_from_json(const nlohmann::json& json, const std::string& name);

}  // namespace tessera::machine
