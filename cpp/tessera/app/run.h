// A run from its start or a checkpoint to its end, with everything it leaves behind.
#pragma once

#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/observers/wall_clock.h"
#include "tessera/app/output/report.h"
#include "tessera/app/start/start.h"
#include "tessera/app/simulation.h"
#include "tessera/comm/communicator.h"

namespace tessera::app {

/// What the command line asks for.
struct RunRequest {
  std::string run_file;                // path
  std::vector<std::string> overrides;  // "section.key=value"
  bool restart = false;
  bool tune = false;       // choose the pair scheme by trial
  std::string selections;  // path of what selections came to; empty: that of the folder in a restart, or none
  int threads = 0;         // 0: as configured
  double max_hours = 0;    // of wall-clock time; 0: any
};

struct RunEnd {
  Report report;
  int signal = 0;  // that stopped the run; 0: none
  bool is_out_of_time = false;

  bool was_stopped() const { return signal != 0 || is_out_of_time; }
};

/// What a run reads before it begins.
struct RunInput {
  model::System system;
  md::EngineSettings settings;
  RunStart start;  // of a new run
};

/// Every rank reads alone, and all throw InputError where one does. Collective.
RunInput read_run_input(const RunConfig& config, const RunRequest& request, const comm::Communicator& comm);

/// Says on the root's terminal which interactions, baths and restraints a run has, with notes on its start. Collective.
void tell_what_runs(const Simulation& simulation, const std::string& start_note);

/// Runs; says what runs on the root's terminal and writes the report into the folder of the run. Collective. Throws
/// InputError, RunError.
RunEnd run(const RunConfig& config, const RunRequest& request, TimeLimit& limit, const comm::Communicator& comm);

/// Says that a run was stopped, and why; empty where it was not.
std::string describe_stop(const RunEnd& end, const RunRequest& request);

}  // namespace tessera::app
