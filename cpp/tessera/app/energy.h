// `tessera energy` prints every term of one configuration, and writes its forces.
#pragma once

#include <string>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"

namespace tessera::app {

struct EnergyRequest {
  std::string system;                  // path
  std::vector<std::string> overrides;  // "section.key=value"
  bool json = false;
  std::string forces;  // path of a NumPy file, or empty
  int threads = 0;     // 0: as configured
};

/// Returns the text for standard output, on the root rank. Collective. Throws InputError.
std::string compute_energy(const EnergyRequest& request, const comm::Communicator& comm);

}  // namespace tessera::app
