// `tessera-md run.toml`: a run from start or checkpoint to its end, with everything it leaves behind.
#pragma once

#include <string>
#include <vector>

#include "tessera/comm/communicator.h"

namespace tessera::app {

struct RunRequest {
  std::string run_file;                // path
  std::vector<std::string> overrides;  // "section.key=value"
  bool restart = false;
  bool tune = false;       // choose the pair scheme by trial
  std::string selections;  // path of what selections came to; empty: that of the folder in a restart, or none
  int threads = 0;         // 0: as configured
};

/// Runs; progress and report go to the root's terminal. Returns the exit status: 0 done, 143 stopped by a signal with a
/// checkpoint written. Collective. Throws InputError, RunError.
int run(const RunRequest& request, const comm::Communicator& comm);

}  // namespace tessera::app
