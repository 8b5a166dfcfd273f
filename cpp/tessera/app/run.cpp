#include "tessera/app/run.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "tessera/app/black_box/black_box.h"
#include "tessera/app/config/baths.h"
#include "tessera/app/config/interactions.h"
#include "tessera/app/config/restraints.h"
#include "tessera/app/config/rigid.h"
#include "tessera/app/config/time_step.h"
#include "tessera/app/cores.h"
#include "tessera/app/observers/box_guard.h"
#include "tessera/app/observers/device_guard.h"
#include "tessera/app/observers/stop_signals.h"
#include "tessera/app/observers/watching.h"
#include "tessera/app/run_outputs.h"
#include "tessera/app/start/coordinates.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trial.h"
#include "tessera/base/error.h"
#include "tessera/comm/job.h"
#include "tessera/comm/on_root.h"

namespace tessera::app {

namespace {

/// Chooses the split of Ewald's sum by trial. It decides bits, so it may not differ between ranks: trials do not.
std::vector<SplitTrial> tune(const RunConfig& config, RunInput& input, const comm::Communicator& comm,
                             ThreadPool& threads) {
  auto& [system, settings, start] = input;
  const auto& block = start.block;
  check_every_atom_once(comm, block, system, config.input.system);
  if (!may_choose_split(config)) {
    if (comm.is_root())
      comm::print_note("tessera-md",
                       "--tune has nothing to choose: there is no mesh, or pme.cutoff, pme.alpha or pme.grid is set");
    return {};
  }
  auto trials = try_splits(config, system, settings, block, comm, threads);
  settings = with_split(config, system, trials.front().split);
  if (!comm.is_root()) return trials;
  std::string text;
  for (const auto& [split, ms_a_step] : trials)
    text += fmt::format("{}{:.3f} Å {:.2f} ms", text.empty() ? "" : ", ", split.cutoff, ms_a_step);
  comm::print_note("tessera-md",
                   fmt::format("pme.cutoff = {} Å, mesh {} × {} × {} by trial, a step: {}", settings.pair.range(),
                               settings.pme_grid[0], settings.pme_grid[1], settings.pme_grid[2], text));
  return trials;
}

/// Says what a GPU that was asked for does.
std::string note_of_device(const Simulation& simulation) {
  if (simulation.device() == nullptr) return "";
  if (simulation.settings().precision == md::pair::Precision::double_precision)
    return "parallel.device = \"gpu\" has nothing to do: pairs in double precision are summed by the CPU";
  const auto& forces = simulation.engine().forces();
  const auto& name = simulation.device()->facts().name;
  if (forces.are_all_on_device())
    return fmt::format("steps are computed on the GPU {}, energies and what pressure baths do by the CPU", name);
  return fmt::format(
      "{} are computed on the GPU {}, all else by the CPU",
      forces.mesh().is_on_device() ? "pairs of atoms, bonded terms and the mesh" : "pairs of atoms and bonded terms",
      name);
}

}  // namespace

void tell_what_runs(const Simulation& simulation, const std::string& start_note) {
  const auto of_cores = note_of_cores(simulation.comm(), simulation.threads().size());
  if (!simulation.comm().is_root()) return;
  const auto& config = simulation.config();
  const bool moves = config.kind == StageKind::dynamics;
  for (const auto& note :
       {start_note, note_of_source(config, simulation.system()), moves ? note_of_baths(config.dynamics) : std::string(),
        moves ? note_of_time_step(simulation.settings(), simulation.system()) : std::string(), of_cores,
        note_of_device(simulation)})
    if (!note.empty()) comm::print_note("tessera-md", note);
  comm::print(fmt::format("{}{}{}{}", describe_interactions(config, simulation.system(), simulation.settings()),
                          describe_rigid(simulation.system(), simulation.settings().constraints),
                          moves ? describe_baths(config, simulation.settings().baths) : "",
                          describe_restraints(config, simulation.settings())));
  if (moves && trajectories_of(config.output).empty())
    comm::print(fmt::format("no trajectory is written (output.trajectory{})\n",
                            config.output.trajectory == no_trajectory ? " = \"none\"" : "_every = 0"));
}

void follow_map(const md::EngineSettings& settings, comm::Communicator& comm) {
  const auto warning = comm.follow_map(settings.machine_file, settings.seconds_for_traffic);
  if (comm.is_root() && !warning.empty()) comm::print_note("tessera-md", warning);
}

namespace {

/// Runs from the start or a checkpoint; whatever belongs to the simulation is gone when this returns or throws.
RunEnd run_to_end(const RunConfig& config, const RunRequest& request, RunInput& input,
                  std::optional<Checkpoint>& checkpoint, RunOutputs& outputs, LastStates& states,
                  comm::Communicator& comm, ThreadPool& threads) {
  Simulation simulation(input.system, config, input.settings, comm, threads);
  follow_map(input.settings, comm);
  tell_what_runs(simulation, input.start.note);
  if (checkpoint) {
    simulation.start(*checkpoint);
    outputs.go_on_from(*checkpoint);
  } else {
    simulation.start(std::move(input.start.block), std::move(input.start.origin));
  }
  if (config.output.black_box) simulation.attach(states);
  StopListener stop;
  simulation.attach(stop);
  DeviceGuard device_guard;
  if (config.parallel.on_device_error == OnDeviceError::stop && simulation.device() != nullptr)
    simulation.attach(device_guard);
  BoxGuard box_guard;
  simulation.attach(box_guard);
  outputs.attach_to(simulation);
  std::optional<CellBalancer> balancer;
  // Pairs of replicated data are shared evenly whatever cells a rank owns.
  if (config.parallel.balance && config.parallel.mode == DataMode::cells && comm.size() > 1)
    simulation.attach(balancer.emplace(simulation));
  Watching watching(config.output, request.status, outputs.energies(), balancer);
  watching.attach_to(simulation);
  simulation.run();
  RunEnd end{outputs.report(simulation, balancer ? &*balancer : nullptr), stop.signal(), outputs.is_out_of_time(),
             box_guard.problem(), device_guard.problem()};
  if (config.output.black_box)
    end.report.memory.owners.push_back(
        {std::string(memory_of_last_states), comm::all_reduce_sum(comm, states.bytes())});
  return end;
}

}  // namespace

RunEnd run(const RunConfig& config, const RunRequest& request, TimeLimit& limit, comm::Communicator& comm) {
  auto input = read_run_input(config, request, comm);
  ThreadPool threads(request.threads > 0 ? request.threads : static_cast<int>(config.parallel.threads));
  RunOutputs outputs(config, input.system, request.restart, comm, &limit);
  std::optional<Checkpoint> checkpoint;
  if (request.restart) checkpoint = read_unfinished(config, input, comm);
  std::vector<SplitTrial> trials;
  if (request.tune) trials = tune(config, input, comm, threads);

  LastStates states;
  FailedRun failed{config, input.system, input.settings, states, false, {}};
  try {
    auto end = run_to_end(config, request, input, checkpoint, outputs, states, comm, threads);
    auto& report = end.report;
    for (const auto& [split, ms_a_step] : trials)
      report.results["split_trials"].push_back(
          {{"pme_cutoff", split.cutoff}, {"pme_grid", split.grid}, {"ms_per_step", ms_a_step}});
    on_root(comm, [&] { write_report(config.output.folder + "/report.json", report); });
    comm::agree_on_run(comm, end.device_problem);
    if (end.box_problem.empty()) return end;
    if (input.system.is_periodic) throw md::integrate::BoxFailure(end.box_problem);
    failed.message = end.box_problem;  // an atom that has left the frame of a vacuum
  } catch (const md::integrate::BoxFailure& error) {
    failed.is_box_too_small = true;
    failed.message = error.what();
  } catch (const md::integrate::BlowUp& error) {
    failed.message = error.what();
  }
  throw RunError(states.is_empty() ? failed.message : write_black_box(failed, comm, threads));
}

std::string describe_stop(const RunEnd& end, const RunRequest& request) {
  if (end.signal != 0)
    return fmt::format("stopped by a signal at step {}; {}: its checkpoint is written, go on with --restart\n",
                       end.report.last_step, comm::name_of_stop_signal(end.signal));
  if (end.is_out_of_time)
    return fmt::format(
        "stopped at step {}, as the end of --max-hours {} is near: its checkpoint is written, go on "
        "with --restart\n",
        end.report.last_step, request.max_hours);
  return "";
}

}  // namespace tessera::app
