// Times how fast ranks read a text together, beside ranks that read its bytes and do nothing with them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tessera/comm/communicator.h"

namespace tessera::programs {

struct ReadRequest {
  std::string path;  // a CONFIG
  int repeats = 3;
  bool is_cold = false;  // the system forgets the file before each turn, as far as it follows such advice
};

/// Returns {ranks, bytes, atoms, raw: seconds, text: seconds} on the root; the two take turns. Throws InputError, the
/// same on all ranks. Collective.
nlohmann::json time_reading(const ReadRequest& request, const comm::Communicator& comm);

}  // namespace tessera::programs
