// Measures a pair scheme on the atoms of a short run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/pair_schemes/schemes.h"

namespace tessera::programs {

struct PairSchemeRequest {
  std::string system, scheme;
  pair_schemes::Function function;
  std::vector<std::string> overrides;  // of keys of a run file
  int threads = 1, steps = 30;
};

/// Runs the engine for some steps, and after each lets the scheme sum the same pairs: a list where the engine has made
/// one, forces after every step. Of "cluster", the engine's own sum, it returns what the engine took. Throws InputError.
nlohmann::json measure(const PairSchemeRequest& request, const comm::Communicator& comm);

}  // namespace tessera::programs
