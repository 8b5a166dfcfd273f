// Checks the collective operations of the engine's communicator, by every entry.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tessera/comm/communicator.h"

namespace tessera::programs {

/// Checks each operation without a network, by the choice for the hosts of the job on one switch, and by every entry of
/// the registry. `runs` says how they were carried out, `wrong` what was wrong on the lowest such rank. Collective.
nlohmann::json check_operations(comm::Communicator& comm);

}  // namespace tessera::programs
