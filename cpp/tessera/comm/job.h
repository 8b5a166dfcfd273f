// The `main` function of every program that runs under mpirun: it starts MPI and runs, and is the one place where a
// failure ends the job.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Runs `work` on all ranks and returns the exit status, which is that of `work`, 2 (InputError) or 3 (RunError).
/// Errors that all ranks agreed on end the job in an orderly manner, with the message once on stderr ("PROGRAM: error:
/// …"); any other exception is a failure of one rank alone, which ends the others, too (status 70).
int run_job(const std::string& program, const std::function<int(Communicator&)>& work);

/// Writes to standard output without a delay. Throws RunError where that is not possible (a full disk, a closed pipe).
void print(std::string_view text);

}  // namespace tessera::comm
