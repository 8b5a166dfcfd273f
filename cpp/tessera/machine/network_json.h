// The network in a machine file; the schema is docs/reference/machine_file.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tessera/machine/network.h"

namespace tessera::machine {

/// "bus", "fabric", "unknown".
const char* name_of(Medium medium);

nlohmann::json to_json(const Network& network);
/// Throws InputError naming the member, or what Network::check finds. `name` stands for the file in messages.
Network network_from_json(const nlohmann::json& json, const std::string& name);

}  // namespace tessera::machine
