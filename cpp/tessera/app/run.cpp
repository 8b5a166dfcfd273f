#include "tessera/app/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "tessera/app/config/baths.h"
#include "tessera/app/config/interactions.h"
#include "tessera/app/config/read_config.h"
#include "tessera/app/config/restraints.h"
#include "tessera/app/config/schema.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/observers/stop_signals.h"
#include "tessera/app/on_root.h"
#include "tessera/app/restart/resume.h"
#include "tessera/app/run_outputs.h"
#include "tessera/app/system/references.h"
#include "tessera/app/trial.h"
#include "tessera/comm/job.h"

namespace tessera::app {

namespace {

struct Input {
  RunConfig config;
  model::System system;
  md::EngineSettings settings;
  CoordinateBlock block;  // of a new run
};

/// The root reads what selections came to: for ranks on other hosts, the file may not be there.
void read_selections(const RunRequest& request, const comm::Communicator& comm, RunConfig& config) {
  const auto wanted = selections_of(config);
  const bool needs_file = std::any_of(wanted.begin(), wanted.end(),
                                      [](const auto& selection) { return !Selections::is_plain(selection.text); });
  std::string text, name = request.selections;
  on_root(comm, [&] {
    const auto kept = fmt::format("{}/{}", config.output.folder, selections_file);
    std::error_code ignored;
    if (name.empty() && request.restart && needs_file && std::filesystem::exists(kept, ignored)) name = kept;
    if (name.empty()) return;
    text = read_selections_text(name);
    (void)Selections::parse(text, name);
  });
  comm::broadcast_resized(comm, text);
  comm::broadcast_resized(comm, name);
  if (!name.empty()) config.selections = Selections::parse(text, name);
}

/// Every rank reads alone; the verdict is everybody's.
Input read_input(const RunRequest& request, const comm::Communicator& comm) {
  Input input;
  std::string problem;
  try {
    input.config = read_run_file(request.run_file, request.overrides);
  } catch (const InputError& error) {
    problem = error.what();
  }
  comm::agree_on_input(comm, problem);
  read_selections(request, comm, input.config);
  try {
    const auto& config = input.config;
    input.system = read_run_system(config.input.system, config);
    input.settings = plan_settings(config, input.system);
    Trajectory::check(config, input.system);
    if (request.tune && request.restart)
      throw InputError("--tune chooses before step 1, and --restart goes on as the run was begun: leave one out");
    if (request.tune && config.parallel.pair_scheme != "auto")
      throw InputError(fmt::format("--tune chooses parallel.pair_scheme, which is set to \"{}\": leave one out",
                                   config.parallel.pair_scheme));
    if (!request.restart) {
      input.block = read_coordinates(config.input.system, comm.rank(), comm.size());
      add_references(input.block, config, input.settings, input.system);
    }
  } catch (const InputError& error) {
    problem = error.what();
  }
  comm::agree_on_input(comm, problem);
  return input;
}

struct Trials {
  std::vector<SchemeTrial> schemes;
  std::vector<SplitTrial> splits;
};

/// What is chosen decides bits, so it may not differ between ranks: trials do not.
Trials tune(Input& input, const comm::Communicator& comm, ThreadPool& threads) {
  auto& [config, system, settings, block] = input;
  Trials trials;
  check_every_atom_once(comm, block, system, config.input.system);
  trials.schemes = try_pair_schemes(config, system, settings, block, comm, threads);
  settings.pair_scheme = trials.schemes.front().scheme;
  if (may_choose_split(config)) {
    trials.splits = try_splits(config, system, settings, block, comm, threads);
    settings = with_split(config, system, trials.splits.front().split, settings.pair_scheme);
  }
  if (!comm.is_root()) return trials;
  std::string text;
  for (const auto& trial : trials.schemes)
    text += fmt::format("{}{} {:.2f} ms", text.empty() ? "" : ", ", trial.scheme, trial.ms_a_step);
  fmt::print(stderr, "tessera-md: note: pair_scheme = \"{}\" by trial, a step: {}\n", settings.pair_scheme, text);
  if (trials.splits.empty()) return trials;
  text.clear();
  for (const auto& [split, ms_a_step] : trials.splits)
    text += fmt::format("{}{:.3f} Å {:.2f} ms", text.empty() ? "" : ", ", split.cutoff, ms_a_step);
  fmt::print(stderr, "tessera-md: note: pme.cutoff = {} Å, mesh {} × {} × {} by trial, a step: {}\n",
             settings.pair.range(), settings.pme_grid[0], settings.pme_grid[1], settings.pme_grid[2], text);
  return trials;
}

/// Reads the checkpoint of a run that is not done yet.
Checkpoint read_unfinished(Input& input, const comm::Communicator& comm) {
  const auto& config = input.config;
  std::string note;
  auto checkpoint = resume(config.output.folder, config, input.system, comm, input.settings, note);
  if (checkpoint.state.step >= config.dynamics.steps)
    throw InputError(
        fmt::format("the run in {} is done: its checkpoint is at step {} and dynamics.steps is {}; raise "
                    "dynamics.steps to go on",
                    config.output.folder, checkpoint.state.step, config.dynamics.steps));
  if (!note.empty()) fmt::print(stderr, "tessera-md: note: {}\n", note);
  return checkpoint;
}

void tell_what_runs(const Simulation& simulation) {
  if (!simulation.comm().is_root()) return;
  const auto& config = simulation.config();
  for (const auto& note : {note_of_source(config, simulation.system()), note_of_baths(config.dynamics)})
    if (!note.empty()) fmt::print(stderr, "tessera-md: note: {}\n", note);
  fmt::print("{}{}", describe_interactions(config, simulation.system(), simulation.settings()),
             describe_baths(config.dynamics));
  fmt::print("{}", describe_restraints(config, simulation.settings()));
  std::fflush(stdout);
}

}  // namespace

int run(const RunRequest& request, const comm::Communicator& comm) {
  comm::listen_for_stop_signals();
  auto input = read_input(request, comm);
  const auto& config = input.config;
  ThreadPool threads(request.threads > 0 ? request.threads : static_cast<int>(config.parallel.threads));
  RunOutputs outputs(config, input.system, request.restart, comm);
  std::optional<Checkpoint> checkpoint;
  if (request.restart) checkpoint = read_unfinished(input, comm);
  Trials trials;
  if (request.tune) trials = tune(input, comm, threads);

  Simulation simulation(input.system, config, input.settings, comm, threads);
  tell_what_runs(simulation);
  if (checkpoint) {
    simulation.start(*checkpoint);
    outputs.go_on_from(*checkpoint);
  } else {
    simulation.start(std::move(input.block));
  }
  StopListener stop;
  simulation.attach(stop);
  outputs.attach_to(simulation);
  std::optional<CellBalancer> balancer;
  if (config.parallel.balance && comm.size() > 1) simulation.attach(balancer.emplace(simulation));
  simulation.run();

  auto report = outputs.report(simulation, balancer ? &*balancer : nullptr);
  report.to_go_on = restart_command(request.run_file, request.overrides, comm.size(), request.threads,
                                    report.last_step < simulation.last_step() ? 0 : 2 * simulation.last_step());
  for (const auto& trial : trials.schemes) report.results["trial_ms_per_step"][trial.scheme] = trial.ms_a_step;
  for (const auto& [split, ms_a_step] : trials.splits)
    report.results["split_trials"].push_back(
        {{"pme_cutoff", split.cutoff}, {"pme_grid", split.grid}, {"ms_per_step", ms_a_step}});
  on_root(comm, [&] {
    write_report(config.output.folder + "/report.json", report);
    auto text = report_text(report);
    if (stop.signal() != 0)
      text += fmt::format("stopped by a signal at step {}; {}: its checkpoint is written, go on with --restart\n",
                          report.last_step, comm::name_of_stop_signal(stop.signal()));
    comm::print(text);
  });
  return stop.signal() != 0 ? 128 + stop.signal() : 0;  // as if the signal had ended it
}

}  // namespace tessera::app
