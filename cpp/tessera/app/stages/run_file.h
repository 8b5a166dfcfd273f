// `tessera-md run.toml`: the run of a file, or its stages one after the other.
#pragma once

#include "tessera/app/run.h"
#include "tessera/comm/communicator.h"

namespace tessera::app {

/// Runs what the file says; progress and reports go to the root's terminal. Returns the exit status: 0 done, or stopped
/// ahead of the time limit; 128 + signal where a signal stopped it, with a checkpoint written. Collective. Throws
/// InputError, RunError.
int run_file(const RunRequest& request, comm::Communicator& comm);

}  // namespace tessera::app
