#include "tessera/app/stages/run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>

#include "tessera/app/config/schema.h"
#include "tessera/app/minimize.h"
#include "tessera/app/output/status_file.h"
#include "tessera/app/select/selections.h"
#include "tessera/app/stages/protocol.h"
#include "tessera/app/stages/stages.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/comm/job.h"
#include "tessera/comm/on_root.h"
#include "tessera/comm/stop_signal.h"

namespace tessera::app {

namespace {

std::string command_to_go_on(const RunRequest& request, const comm::Communicator& comm, std::int64_t steps,
                             const std::string& stage = {}) {
  auto text = restart_command(request.run_file, request.overrides, comm.size(), request.threads, steps, stage);
  return request.max_hours > 0 ? text + fmt::format(" --max-hours {}", request.max_hours) : text;
}

/// Lets the root read the atoms of the selections: for ranks on other hosts, the file may not be there.
Selections agree_on_selections(const RunRequest& request, const Protocol& protocol, const comm::Communicator& comm) {
  const auto needs_file = [](const RunConfig& config) {
    const auto wanted = selections_of(config);
    return std::any_of(wanted.begin(), wanted.end(),
                       [](const auto& selection) { return !Selections::is_plain(selection.text); });
  };
  const bool is_needed =
      needs_file(protocol.config) || std::any_of(protocol.stages.begin(), protocol.stages.end(),
                                                 [&](const auto& stage) { return needs_file(stage.config); });
  std::string text, name = request.selections;
  on_root(comm, [&] {
    const auto kept = fmt::format("{}/{}", protocol.config.output.folder, selections_file);
    std::error_code ignored;
    if (name.empty() && request.restart && is_needed && std::filesystem::exists(kept, ignored)) name = kept;
    if (name.empty()) return;
    text = read_selections_text(name);
    (void)Selections::parse(text, name);
  });
  comm::broadcast_resized(comm, text);
  comm::broadcast_resized(comm, name);
  return name.empty() ? Selections() : Selections::parse(text, name);
}

/// Writes the selections of all stages into the folder of a protocol, from which a restart takes them.
void keep_selections(const RunConfig& config) {
  if (config.selections.empty()) return;
  const auto path = [&](std::string_view name) { return fmt::format("{}/{}", config.output.folder, name); };
  make_folder(config.output.folder);
  write_atomically(path(selections_file), config.selections.text());
  std::error_code ignored;
  std::filesystem::remove(path(next_selections_file), ignored);
}

int exit_status(const RunEnd& end) { return end.signal != 0 ? 128 + end.signal : 0; }  // as if it had ended the run

/// Says in status.json that a run, or a protocol with this last stage, is done, or why it was stopped before.
void end_status(const std::optional<RunEnd>& end, bool is_out_of_time, const RunRequest& request) {
  if (!is_out_of_time && !(end && end->was_stopped())) {
    request.status->end("finished", 0, "");
    return;
  }
  const auto why = end && end->signal != 0 ? fmt::format("a signal, {}", comm::name_of_stop_signal(end->signal))
                                           : fmt::format("the end of --max-hours {}", request.max_hours);
  request.status->end("stopped", end ? exit_status(*end) : 0, "stopped by " + why + "; --restart goes on");
}

/// Returns the exit status of a job that ends by an exception: that of comm::run_job.
int status_of_failure(const std::exception& error) {
  if (dynamic_cast<const InputError*>(&error)) return 2;
  return dynamic_cast<const RunError*>(&error) ? 3 : 70;
}

int run_alone(const RunConfig& config, const RunRequest& request, TimeLimit& limit, comm::Communicator& comm) {
  auto end = run(config, request, limit, comm);
  auto& report = end.report;
  const auto last = config.dynamics.steps;
  report.to_go_on = command_to_go_on(request, comm, report.last_step < last ? 0 : 2 * last);
  on_root(comm, [&] { comm::print(report_text(report) + describe_stop(end, request)); });
  end_status(end, false, request);
  return exit_status(end);
}

RunEnd run_stage(const RunConfig& config, const RunRequest& request, TimeLimit& limit, comm::Communicator& comm) {
  if (config.kind == StageKind::minimize) return minimize_stage(config, request, limit, comm);
  auto end = run(config, request, limit, comm);
  on_root(comm, [&] { comm::print(summary_text(end.report) + describe_stop(end, request)); });
  return end;
}

nlohmann::json list_stages(const std::vector<Stage>& stages) {
  auto list = nlohmann::json::array();
  for (const auto& [name, config] : stages)
    list.push_back({{"name", name},
                    {"kind", stage_kind_names[static_cast<std::size_t>(config.kind)]},
                    {"steps", config.kind == StageKind::dynamics ? config.dynamics.steps : config.minimize.steps},
                    {"timestep_ps", config.dynamics.timestep}});
  return list;
}

int run_stages(const Protocol& protocol, const RunRequest& request, TimeLimit& limit, comm::Communicator& comm) {
  const auto& stages = protocol.stages;
  if (request.tune)
    throw InputError(
        "--tune chooses for one run, and this file has stages: tune one of them alone, from its settings.toml, and set "
        "pme.cutoff and pme.grid");
  std::array<std::int64_t, 2> at = {};  // the number of the first stage that is not done, and whether it has begun
  on_root(comm, [&] {
    if (request.restart)
      at = find_place(stages);
    else
      check_folders(stages);
    check_stages(stages, static_cast<std::size_t>(at[0]), request.restart, comm.size());
    keep_selections(protocol.config);
  });
  comm.broadcast(std::as_writable_bytes(std::span(at)), 0);
  request.status->set("stages", list_stages(stages));
  std::optional<RunEnd> end;
  bool is_out_of_time = false;
  for (auto i = static_cast<std::size_t>(at[0]); i < stages.size(); ++i) {
    is_out_of_time = limit.is_over(comm);
    if (is_out_of_time) break;
    auto stage = stages[i];
    auto its_request = request;
    its_request.restart = at[1] != 0 && i == static_cast<std::size_t>(at[0]);
    // What a stage has left that is begun anew goes into previous-1.
    if (request.restart && !its_request.restart) stage.config.output.overwrite = true;
    on_root(comm, [&] { comm::print(fmt::format("stage {} of {}: {}\n", i + 1, stages.size(), stage.name)); });
    request.status->set("stage", {{"name", stage.name}, {"number", i + 1}});
    try {
      end = run_stage(stage.config, its_request, limit, comm);
    } catch (const InputError& error) {
      throw InputError(fmt::format("stage {}: {}", stage.name, error.what()));
    } catch (const RunError& error) {
      throw RunError(fmt::format("stage {}: {}", stage.name, error.what()));
    }
    if (end->was_stopped()) break;
  }
  on_root(comm, [&] {
    auto text = table_of_stages(stages);
    if (is_out_of_time)
      text += fmt::format("the end of --max-hours {} is near, so no stage is begun\n", request.max_hours);
    const auto& last = stages.back();
    if (is_out_of_time || (end && end->was_stopped()))
      text += fmt::format("To go on: {}\n", command_to_go_on(request, comm, 0));
    else if (last.config.kind == StageKind::dynamics)
      text += fmt::format("To go on: {}\n", command_to_go_on(request, comm, 2 * last.config.dynamics.steps, last.name));
    comm::print(text);
  });
  end_status(end, is_out_of_time, request);
  return end ? exit_status(*end) : 0;
}

}  // namespace

int run_file(const RunRequest& request, comm::Communicator& comm) {
  constexpr double hour = 3600;
  TimeLimit limit(request.max_hours > 0 ? hour * request.max_hours : std::numeric_limits<double>::infinity());
  comm::listen_for_stop_signals();
  Protocol protocol;
  std::string problem;
  try {
    protocol = read_protocol(request.run_file, request.overrides);
  } catch (const InputError& error) {
    problem = error.what();
  }
  comm::agree_on_input(comm, problem);
  if (comm.is_root())
    for (const auto& note : notes_of_removed(protocol)) comm::print_note("tessera-md", note);
  protocol.config.selections = agree_on_selections(request, protocol, comm);
  for (auto& stage : protocol.stages) stage.config.selections = protocol.config.selections;
  StatusFile status(protocol.config.output.folder, comm.is_root());
  auto watched = request;
  watched.status = &status;
  try {
    return protocol.stages.empty() ? run_alone(protocol.config, watched, limit, comm)
                                   : run_stages(protocol, watched, limit, comm);
  } catch (const std::exception& error) {
    status.end("failed", status_of_failure(error), error.what());
    throw;
  }
}

}  // namespace tessera::app
