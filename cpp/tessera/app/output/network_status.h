// The network under the ranks of a run, as status.json shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tessera/comm/communicator.h"

namespace tessera::app {

/// Returns hosts with their ranks and the subnets that they form, on the root; null elsewhere, and where there is one
/// rank. `machine_file`: of the map, which is good; may be empty. Collective.
nlohmann::json network_status(const std::string& machine_file, const comm::Communicator& comm);

}  // namespace tessera::app
