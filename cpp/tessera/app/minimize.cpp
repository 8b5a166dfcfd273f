#include "tessera/app/minimize.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tessera/app/config/interactions.h"
#include "tessera/app/config/read_config.h"
#include "tessera/app/config/removed_keys.h"
#include "tessera/app/config/rigid.h"
#include "tessera/app/config/schema.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/gather.h"
#include "tessera/app/numbers_text.h"
#include "tessera/app/observers/progress_display.h"
#include "tessera/app/output/folder.h"
#include "tessera/app/output/report.h"
#include "tessera/app/output/status_file.h"
#include "tessera/app/simulation.h"
#include "tessera/app/start/coordinates.h"
#include "tessera/app/system/system_file.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/comm/job.h"
#include "tessera/comm/on_root.h"
#include "tessera/comm/stop_signal.h"

namespace tessera::app {

namespace {

using md::minimize::Ending;

/// Prints a note of a minimisation that has not converged.
void print_note_of_ending(const md::minimize::Result& result, double max_force, const std::string& what_now) {
  comm::print_note("tessera-md",
                   fmt::format("not converged: {} at a greatest force of {:.4g} kcal/mol/Å, above {:.4g}{}",
                               name_of(result.ending), result.max_force, max_force, what_now));
}

/// Names the nearest of the atoms that still lie on each other where a minimisation has got stuck; empty otherwise.
/// Collective.
std::string describe_stuck_atoms(const md::minimize::Result& result, const md::Engine& engine) {
  constexpr double of_a_clash = 1e4;  // kcal/mol/Å
  if (result.ending != Ending::no_lower_energy || result.max_force < of_a_clash) return "";
  const auto clashes = engine.find_clashes();
  if (clashes.nearest.empty()) return "";
  const auto& [distance, id, other] = clashes.nearest.front();
  return fmt::format("; {} and {} are {:.3f} Å apart", engine.system().describe(id), engine.system().describe(other),
                     distance);
}

std::string advice(Ending ending, const std::string& stuck_atoms, const RunConfig& config) {
  if (ending == Ending::out_of_steps) return "; give more --steps, or go on from what was written";
  if (ending == Ending::stopped) return "; go on from what was written";
  if (!stuck_atoms.empty() && config.dynamics.constraints != md::constraint::ConstraintMode::none)
    return stuck_atoms +
           ": atoms that overlap part more easily without constraints, minimise with --set dynamics.constraints=none "
           "first";
  if (!stuck_atoms.empty())
    return stuck_atoms + ": move one of them, or leave out a molecule that stands where another does";
  if (ending == Ending::no_lower_energy && config.parallel.precision != Precision::double_precision)
    return "; the forces may be too inexact for this --max-force: try --set parallel.precision=double";
  return "";
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string progress_text(const md::minimize::Progress& progress) {
  return fmt::format("step {}, {}: energy {:.2f} kcal/mol, greatest force {:.4g} kcal/mol/Å", grouped(progress.steps),
                     name_of(progress.method), progress.energy, progress.max_force);
}

nlohmann::json to_json(const md::minimize::Result& result, const md::Energies& energies, const model::System& system,
                       double seconds) {
  nlohmann::json terms = nlohmann::json::object(), start = nlohmann::json::object();
  for (std::size_t t = 0; t < md::n_terms; ++t) {
    terms[std::string(md::term_names[t])] = energies.term[t];
    start[std::string(md::term_names[t])] = result.start_energies.term[t];
  }
  return {{"converged", result.ending == Ending::converged},
          {"ending", name_of(result.ending)},
          {"steps", result.steps},
          {"energy", energies.potential()},
          {"max_force", result.max_force},
          {"atom", {{"id", result.atom}, {"name", system.describe(result.atom)}}},
          {"energies", terms},
          {"start",
           {{"energy", result.start_energies.potential()}, {"max_force", result.start_max_force}, {"energies", start}}},
          {"seconds", seconds}};
}

/// Writes energies by term at the start and the end, and where the time went.
std::string to_text(const md::minimize::Result& result, const md::Engine& engine, const std::vector<Phase>& phases,
                    double seconds) {
  const auto& energies = engine.energies();
  const auto value = [](double kcal) {
    return std::abs(kcal) < 1e9 ? fmt::format("{:.4f}", kcal) : fmt::format("{:.6e}", kcal);
  };
  std::string text = fmt::format("\n{:<22}{:>20}{:>20}\n", "kcal/mol", "start", "end");
  const auto row = [&](std::string_view name, double start, double end) {
    text += fmt::format("{:<22}{:>20}{:>20}\n", name, value(start), value(end));
  };
  for (std::size_t t = 0; t < md::n_terms; ++t)
    if (result.start_energies.term[t] != 0 || energies.term[t] != 0)
      row(md::term_names[t], result.start_energies.term[t], energies.term[t]);
  row("total", result.start_energies.potential(), energies.potential());
  text += fmt::format("\ngreatest force: {:.4g} kcal/mol/Å on {}; at the start {:.4g}\n", result.max_force,
                      engine.system().describe(result.atom), result.start_max_force);
  text +=
      fmt::format("{} steps, of which {} lowered the energy, in {}:", grouped(result.steps), grouped(result.accepted),
                  seconds < 10 ? fmt::format("{:.2f} s", seconds) : duration_text(seconds));
  for (const auto& phase : phases)
    if (phase.mean_seconds > 0.02 * seconds)
      text += fmt::format("{} {} {:.0f} %", &phase == &phases.front() ? "" : ",", phase.name,
                          100 * phase.mean_seconds / seconds);
  return text + "\n";
}

/// Returns the seconds by phase of all ranks, the longest first. Collective.
std::vector<Phase> phases_of(const md::Timers& timers, const comm::Communicator& comm) {
  auto sum = timers.seconds();
  comm.all_reduce_sum_for_report(sum);
  std::vector<Phase> phases;
  for (std::size_t p = 0; p < md::n_phases; ++p)
    phases.push_back({p == 0 ? "move, constrain" : std::string(md::phase_names[p]), sum[p] / comm.size(), 0});
  std::stable_sort(phases.begin(), phases.end(),
                   [](const auto& a, const auto& b) { return a.mean_seconds > b.mean_seconds; });
  return phases;
}

struct Input {
  RunConfig config;
  model::System system;
  md::EngineSettings settings;
  CoordinateBlock block;
};

Input read_input(const MinimizeRequest& request, const comm::Communicator& comm) {
  Input input;
  std::string problem;
  try {
    const auto& [max_force, max_steps] = request.settings;
    if (!(max_force > 0) || !std::isfinite(max_force))
      throw InputError(fmt::format("--max-force is {}, expected a positive number of kcal/mol/Å", max_force));
    if (max_steps < 0) throw InputError(fmt::format("--steps is {}, expected 0 or more", max_steps));
    for (const auto& text : request.overrides)
      if (text.starts_with("minimize."))
        throw InputError(fmt::format("--set {}: that is for stages; expected --max-force or --steps here", text));
    input.config = config_of_system(request.system, request.overrides);
    input.system = read_run_system(request.system, input.config);
    input.settings = plan_settings(input.config, input.system);
    input.block = read_coordinates(request.system, comm.rank(), comm.size());
    if (comm.is_root() && !request.positions.empty()) check_place_of_file(request.positions);
  } catch (const InputError& error) {
    problem = error.what();
  }
  comm::agree_on_input(comm, problem);
  if (comm.is_root())
    for (const auto& note : notes_of_removed(input.config)) comm::print_note("tessera-md", note);
  for (auto& v : input.block.velocity) v = {};
  return input;
}

/// Returns the settings in effect, as a run file of this stage alone.
std::string text_of_stage(const Simulation& simulation) {
  auto config = in_effect(simulation.config(), simulation.settings());
  const std::filesystem::path folder = config.output.folder;
  config.output.folder = folder.parent_path().string();
  config.stages = {{folder.filename().string(), config.kind}};
  return to_toml(config);
}

nlohmann::json status_of(const md::minimize::Progress& progress, const Simulation& simulation, double seconds) {
  return {{"kind", "minimize"},
          {"n_atoms", simulation.system().n_atoms()},
          {"ranks", simulation.comm().size()},
          {"threads", simulation.threads().size()},
          {"step", progress.steps},
          {"first_step", 0},
          {"last_step", simulation.config().minimize.steps},
          {"seconds", seconds},
          {"steps_per_second", seconds > 0 ? static_cast<double>(progress.steps) / seconds : 0},
          {"minimization",
           {{"energy", progress.energy},
            {"max_force", progress.max_force},
            {"wanted_max_force", simulation.config().minimize.max_force},
            {"method", name_of(progress.method)}}}};
}

nlohmann::json report_of_stage(const Simulation& simulation, const md::minimize::Result& result, double seconds,
                               const std::string& state_hash) {
  return {{"format", "tessera-report"},
          {"version", 1},
          {"kind", "minimize"},
          {"n_atoms", simulation.system().n_atoms()},
          {"ranks", simulation.comm().size()},
          {"threads", simulation.threads().size()},
          {"wall_seconds", seconds},
          {"state_hash", state_hash},
          {"minimization", to_json(result, simulation.engine().energies(), simulation.system(), seconds)},
          {"versions",
           {{"tessera", TESSERA_VERSION},
            {"mpi", comm::Communicator::library_version()},
            {"compiler", __VERSION__},
            {"simd", instruction_set()}}},
          {"machine", machine::to_json(machine::describe_this_host())},
          {"settings", to_json(in_effect(simulation.config(), simulation.settings()))}};
}

/// Writes the files of a stage, the checkpoint last: with it the stage is done.
void write_stage(Simulation& simulation, const OutputFolder* folder, const nlohmann::json& report) {
  const auto& config = simulation.config();
  on_root(simulation.comm(), [&] {
    const auto path = [&](std::string_view name) { return fmt::format("{}/{}", config.output.folder, name); };
    folder->move_earlier_run_away();
    if (!config.selections.empty()) write_atomically(path("selections.json"), config.selections.text());
    write_atomically(path("settings.toml"), text_of_stage(simulation));
    write_atomically(path("report.json"), json_text(report, 2) + "\n");
  });
  simulation.save(config.output.folder);
}

}  // namespace

RunEnd minimize_stage(const RunConfig& config, const RunRequest& request, TimeLimit& limit, comm::Communicator& comm) {
  auto input = read_run_input(config, request, comm);
  ThreadPool threads(request.threads > 0 ? request.threads : static_cast<int>(config.parallel.threads));
  std::optional<OutputFolder> folder;  // on the root
  on_root(comm, [&] {
    using Start = OutputFolder::Start;
    folder.emplace(config.output.folder, config.output.overwrite ? Start::overwrite : Start::new_run);
  });
  Simulation simulation(input.system, config, input.settings, comm, threads);
  follow_map(input.settings, comm);
  tell_what_runs(simulation, input.start.note);
  simulation.start_to_minimize(std::move(input.start.block), std::move(input.start.origin));

  std::optional<StatusLine> line;
  if (comm.is_root()) line = line_on_standard_error(config.output.progress);
  simulation.timers().reset();
  const auto start = std::chrono::steady_clock::now();
  constexpr std::int64_t ask_every = 5;  // steps
  RunEnd end;
  const auto result = simulation.minimize(
      {config.minimize.max_force, config.minimize.steps}, [&](const md::minimize::Progress& progress) {
        const double seconds = seconds_since(start);
        if (line && line->is_due(seconds)) line->show(progress_text(progress), seconds);
        if (progress.steps > 0 && request.status && request.status->is_due())
          request.status->update([&] { return status_of(progress, simulation, seconds); });
        if (progress.steps % ask_every != 0) return false;
        end.signal = comm::agreed_stop_signal(comm);
        const double a_step = seconds / static_cast<double>(progress.steps + 1);
        end.is_out_of_time = limit.is_over(comm, 2 * ask_every * a_step);
        return end.was_stopped();
      });
  const double seconds = seconds_since(start);
  if (line) line->show(progress_text(result), seconds), line->finish();
  if (request.status && request.status->is_writer())
    request.status->update([&] { return status_of(result, simulation, seconds); });
  if (end.was_stopped()) {
    on_root(comm, [&] {
      comm::print(fmt::format("stopped {} after {} steps; a minimisation begins anew with --restart\n",
                              end.signal != 0 ? fmt::format("by a signal, {},", comm::name_of_stop_signal(end.signal))
                                              : fmt::format("as the end of --max-hours {} is near,", request.max_hours),
                              grouped(result.steps)));
    });
    return end;
  }
  const auto hash = simulation.state_hash();
  write_stage(simulation, folder ? &*folder : nullptr, report_of_stage(simulation, result, seconds, hash));
  const auto phases = phases_of(simulation.timers(), comm);
  const auto stuck_atoms = describe_stuck_atoms(result, simulation.engine());
  on_root(comm, [&] {
    comm::print(to_text(result, simulation.engine(), phases, seconds) + "\n");
    if (result.ending != Ending::converged)
      print_note_of_ending(result, config.minimize.max_force, stuck_atoms + "; the protocol goes on");
  });
  return end;
}

int minimize(const MinimizeRequest& request, comm::Communicator& comm) {
  comm::listen_for_stop_signals();
  auto input = read_input(request, comm);
  const auto& [config, system, settings, block] = input;
  ThreadPool threads(request.threads > 0 ? request.threads : static_cast<int>(config.parallel.threads));
  md::Engine engine(system, settings, md::plan_for_ranks(system, settings, system.box, comm, threads), comm, threads);
  follow_map(settings, comm);
  check_every_atom_once(comm, block, system, request.system);
  engine.set_state(make_start(system, block));

  std::optional<StatusLine> line;
  if (comm.is_root() && !request.json) {
    const auto note = note_of_source(config, system);
    comm::print(describe_interactions(config, system, settings) + describe_rigid(system, settings.constraints) +
                (note.empty() ? "" : "note: " + note + "\n"));
    line = line_on_standard_error(config.output.progress);
  }
  engine.timers().reset();
  const auto start = std::chrono::steady_clock::now();
  int signal = 0;
  const auto result = md::minimize::minimize(engine, request.settings, comm, threads, [&](const auto& progress) {
    if (line && line->is_due(seconds_since(start))) line->show(progress_text(progress), seconds_since(start));
    signal = comm::agreed_stop_signal(comm);
    return signal != 0;
  });
  const double seconds = seconds_since(start);
  if (line) line->show(progress_text(result), seconds), line->finish();

  if (!request.positions.empty()) write_vectors(request.positions, engine, comm, Quantity::fraction);
  const auto phases = phases_of(engine.timers(), comm);
  const auto stuck_atoms = describe_stuck_atoms(result, engine);
  on_root(comm, [&] {
    comm::print(request.json ? json_text(to_json(result, engine.energies(), system, seconds), 2) + "\n"
                             : to_text(result, engine, phases, seconds));
    if (result.ending != Ending::converged)
      print_note_of_ending(result, request.settings.max_force, advice(result.ending, stuck_atoms, config));
  });
  if (result.ending == Ending::converged) return 0;
  return result.ending == Ending::stopped ? 128 + signal : not_converged;
}

}  // namespace tessera::app
