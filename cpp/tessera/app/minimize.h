// `tessera minimize` minimises the energy of one configuration.
#pragma once

#include <string>
#include <vector>

#include "tessera/app/run.h"
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
int minimize(const MinimizeRequest& request, comm::Communicator& comm);

/// Runs a stage of kind "minimize". Its folder gets a checkpoint with velocities of zero, settings.toml, which runs it
/// alone, and report.json; all at the end, so that nothing changes there where a signal or the limit of time has
/// stopped it. The report of the result is empty. Collective. Throws InputError, RunError.
RunEnd minimize_stage(const RunConfig& config, const RunRequest& request, TimeLimit& limit, comm::Communicator& comm);

}  // namespace tessera::app
