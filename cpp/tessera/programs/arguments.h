// What programs print of their arguments.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>

#include "tessera/comm/communicator.h"
#include "tessera/comm/job.h"

namespace tessera::programs {

/// Lets the root print help, or what is wrong with the arguments. Returns whether help was asked for.
inline bool print_help(const CLI::App& app, const CLI::ParseError& error, const comm::Communicator& comm) {
  std::ostringstream help, problem;
  const int status = app.exit(error, help, problem);
  if (comm.is_root()) {
    comm::print(help.str());
    fmt::print(stderr, "{}", comm::printable(problem.str(), comm::Lines::many));
  }
  return status == 0;
}

}  // namespace tessera::programs
