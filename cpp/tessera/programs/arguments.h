// What programs print of their arguments.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/job.h"

namespace tessera::programs {

/// Lets the root print help, where that was asked for. Throws InputError where something is wrong with the arguments.
inline void print_help(const CLI::App& app, const CLI::ParseError& error, const comm::Communicator& comm) {
  std::ostringstream help, problem;
  if (app.exit(error, help, problem) != 0) throw InputError(fmt::format("{}; --help lists the options", error.what()));
  if (comm.is_root()) comm::print(help.str());
}

}  // namespace tessera::programs
