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

enum class Lines { one, many };
/// Returns a text without characters that a terminal would act on, such as escape codes: they become \u001b, bytes that
/// are no UTF-8 \x9b. All text of files and names goes through here before it is printed, as the functions below let
/// it.
std::string printable(std::string_view text, Lines lines = Lines::one);

/// Writes a line to standard error: "PROGRAM: note: …".
void print_note(std::string_view program, std::string_view note);

/// Writes to standard output without a delay. Throws RunError where that is not possible (a full disk, a closed pipe).
void print(std::string_view text);

}  // namespace tessera::comm
