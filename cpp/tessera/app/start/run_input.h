// What a run reads before it begins: its system, its settings, and where it starts or goes on from.
#pragma once

#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/restart/checkpoint.h"
#include "tessera/app/start/start.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/settings.h"
#include "tessera/model/system.h"

namespace tessera::app {

class StatusFile;

/// What the command line asks for.
struct RunRequest {
  std::string run_file;                // path
  std::vector<std::string> overrides;  // "section.key=value"
  bool restart = false;
  bool tune = false;             // choose the pair scheme by trial
  std::string selections;        // path of what selections came to; empty: that of the folder in a restart, or none
  int threads = 0;               // 0: as configured
  double max_hours = 0;          // of wall-clock time; 0: any
  StatusFile* status = nullptr;  // says how far the run is; none where null
};

struct RunInput {
  model::System system;
  md::EngineSettings settings;
  RunStart start;  // of a new run
};

/// Reads the input on every rank alone, and throws InputError on all where one does. Collective.
RunInput read_run_input(const RunConfig& config, const RunRequest& request, const comm::Communicator& comm);

/// Reads the checkpoint of a run that is not done yet, or lacks its report alone. Throws InputError. Collective.
Checkpoint read_unfinished(const RunConfig& config, RunInput& input, const comm::Communicator& comm);

}  // namespace tessera::app
