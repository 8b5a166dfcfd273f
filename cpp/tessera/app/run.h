// A run from its start or a checkpoint to its end, with everything it leaves behind.
#pragma once

#include <string>

#include "tessera/app/config/run_config.h"
#include "tessera/app/observers/wall_clock.h"
#include "tessera/app/output/report.h"
#include "tessera/app/simulation.h"
#include "tessera/app/start/run_input.h"
#include "tessera/comm/communicator.h"

namespace tessera::app {

struct RunEnd {
  Report report;
  int signal = 0;  // that stopped the run; 0: none
  bool is_out_of_time = false;
  std::string box_problem{};     // with which the run had to end; empty: none
  std::string device_problem{};  // of this rank's GPU, which ended the run

  bool was_stopped() const { return signal != 0 || is_out_of_time; }
};

/// Makes collective operations follow the map of a run, or leaves them to the MPI library where it has none; a note says
/// where the map is of no use. No result depends on it. Collective.
void follow_map(const md::EngineSettings& settings, comm::Communicator& comm);

/// Says on the root's terminal which interactions, baths and restraints a run has, with notes on its start. Collective.
void tell_what_runs(const Simulation& simulation, const std::string& start_note);

/// Runs; says what runs on the root's terminal and writes the report into the folder of the run. Collective. Throws
/// InputError, RunError.
RunEnd run(const RunConfig& config, const RunRequest& request, TimeLimit& limit, comm::Communicator& comm);

/// Describes why a run was stopped; empty where it was not.
std::string describe_stop(const RunEnd& end, const RunRequest& request);

}  // namespace tessera::app
