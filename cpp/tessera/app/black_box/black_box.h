// The black box of a run that blew up: output.folder/black_box is the folder of a short run that holds a checkpoint from
// before the failure, every step from shortly before it with energies, velocities and forces, and failure.json, which
// says what happened (docs/guide/running.md).
#pragma once

#include <string>

#include "tessera/app/black_box/last_states.h"
#include "tessera/app/config/run_config.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/settings.h"
#include "tessera/model/system.h"

namespace tessera::app {

struct FailedRun {
  const RunConfig& config;
  const model::System& system;
  const md::EngineSettings& settings;
  const LastStates& states;
  bool is_box_too_small = false;
  std::string message;  // of the failure
};

/// Does the last steps once more, writes the black box, and tells on the root's terminal what to try. Returns the
/// message with which the run ends: what the first atom out of order felt, where one is found. No failure of its own
/// hides that of the run. Collective.
std::string write_black_box(const FailedRun& run, const comm::Communicator& comm, ThreadPool& threads);

}  // namespace tessera::app
