// What the `main` of every program that runs under mpirun does: start MPI, run, and the one place where a failure ends
// the job.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Runs `work` on all ranks and returns the exit status, its own or 2 (InputError), 3 (RunError). Errors that all ranks
/// agreed on leave in good order, with the same message once on stderr ("PROGRAM: error: …"); any other exception is a
/// failure of one rank alone, which takes the others with it (status 70).
int run_job(const std::string& program, const std::function<int(const Communicator&)>& work);

/// Writes to standard output, at once. Throws RunError where that can't be done (a full disk, a closed pipe).
void print(std::string_view text);

}  // namespace tessera::comm
