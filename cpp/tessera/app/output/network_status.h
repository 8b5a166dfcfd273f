// The network under the ranks of a run, as status.json shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tessera/comm/communicator.h"

namespace tessera::app {

/// Returns hosts with their ranks and the subnets that they form, on the root; null elsewhere, and where there is one
/// rank or the map is no use. `machine_file`: of the map; may be empty. Collective.
nlohmann::json network_status(const std::string& machine_file, const comm::Communicator& comm);

}  // namespace tessera::app
