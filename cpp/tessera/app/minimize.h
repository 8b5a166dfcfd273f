// `tessera minimize` minimises the energy of one configuration.
#pragma once

#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/md/minimize/minimize.h"

namespace tessera::app {

/// The exit status of a minimisation that has ended above the force that was asked for.
inline constexpr int not_converged = 75;

struct MinimizeRequest {
  std::string system;                  // path
  std::vector<std::string> overrides;  // "section.key=value"
  md::minimize::Settings settings;
  std::string positions;  // path of a NumPy file, or empty
  bool json = false;
  int threads = 0;  // 0: as configured
};

/// Minimises; progress and results go to the root's terminal. Returns the exit status: 0 converged, 75 not converged,
/// 128 + signal where a signal stopped it; the positions are written in any of these cases. Collective. Throws
/// InputError, RunError.
int minimize(const MinimizeRequest& request, const comm::Communicator& comm);

}  // namespace tessera::app
