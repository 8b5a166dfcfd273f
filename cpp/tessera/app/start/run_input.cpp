#include "tessera/app/start/run_input.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/app/engine_settings.h"
#include "tessera/app/output/report.h"
#include "tessera/app/start/resume.h"
#include "tessera/app/system/references.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/base/error.h"
#include "tessera/comm/job.h"
#include "tessera/comm/on_root.h"

namespace tessera::app {

namespace {

/// Tells whether the last leg that the report of a folder tells of ends at this step. A run that was killed after its
/// last checkpoint has no report of its end.
bool is_reported(const std::string& folder, std::int64_t step) {
  std::string ignored;
  const auto legs = read_legs(folder + "/report.json", ignored);
  return !legs.empty() && legs.back().value("last_step", std::int64_t{-1}) == step;
}

}  // namespace

RunInput read_run_input(const RunConfig& config, const RunRequest& request, const comm::Communicator& comm) {
  RunInput input;
  on_each_rank(comm, [&] {
    if (request.tune && request.restart)
      throw InputError("--tune chooses before step 1, and --restart goes on as the run was begun: leave one out");
    input.system = read_run_system(config.input.system, config);
    if (request.restart)
      take_box_of_restart(input.system, config.output.folder);
    else
      take_box_of_start(input.system, config);
    input.settings = plan_settings(config, input.system);
    check_trajectories(config, input.system);
  });
  if (request.restart) return input;
  input.start = read_start(config.input.system, config, input.system, comm);
  on_each_rank(comm, [&] { add_references(input.start.block, config, input.settings, input.system); });
  return input;
}

Checkpoint read_unfinished(const RunConfig& config, RunInput& input, const comm::Communicator& comm) {
  std::string note;
  auto checkpoint = resume(config.output.folder, config, input.system, comm, input.settings, note);
  const auto step = checkpoint.state.step;
  bool is_done = step > config.dynamics.steps;
  if (step == config.dynamics.steps) on_root(comm, [&] { is_done = is_reported(config.output.folder, step); });
  if (comm::all_reduce_max(comm, is_done ? 1 : 0) != 0)
    throw InputError(
        fmt::format("the run in {} is done: its checkpoint is at step {} and dynamics.steps is {}; raise "
                    "dynamics.steps to go on",
                    config.output.folder, step, config.dynamics.steps));
  if (!note.empty()) comm::print_note("tessera-md", note);
  return checkpoint;
}

}  // namespace tessera::app
