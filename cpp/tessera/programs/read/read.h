// Times how fast ranks read a file together, beside ranks that read its bytes and do nothing with them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tessera/comm/communicator.h"

namespace tessera::programs {

struct ReadRequest {
  std::string kind;  // "config", "system" or "checkpoint"
  std::string path;
  int repeats = 3;
  bool is_cold = false;  // the system forgets the file before each turn, as far as it follows such advice
};

/// Returns {ranks, bytes, atoms, raw: seconds, direct: seconds, parsed: seconds} on the root, which take turns: bytes
/// through the system's memory, bytes around it (empty unless cold), and what the engine makes of the file. Throws
/// InputError and RunError, the same on all ranks. Collective.
nlohmann::json time_reading(const ReadRequest& request, const comm::Communicator& comm);

}  // namespace tessera::programs
