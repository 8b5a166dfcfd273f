#include "tessera/app/explain/explain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/app/black_box/last_states.h"
#include "tessera/app/config/interactions.h"
#include "tessera/app/config/read_config.h"
#include "tessera/app/config/schema.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/explain/measurement.h"
#include "tessera/app/explain/other_layouts.h"
#include "tessera/app/explain/planned_hosts.h"
#include "tessera/app/explain/step_prediction.h"
#include "tessera/app/numbers_text.h"
#include "tessera/app/output/report.h"
#include "tessera/app/output/room.h"
#include "tessera/app/restart/checkpoint_file.h"
#include "tessera/app/stages/protocol.h"
#include "tessera/app/stages/stages.h"
#include "tessera/app/start/coordinates.h"
#include "tessera/app/start/start.h"
#include "tessera/app/system/system_file.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trajectory/writers.h"
#include "tessera/base/error.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/base/units.h"
#include "tessera/collectives/choose.h"
#include "tessera/comm/job.h"
#include "tessera/fft/choice/choose.h"
#include "tessera/fft/schemes.h"
#include "tessera/machine/machine.h"
#include "tessera/machine/orders.h"
#include "tessera/machine/survey/machine_file.h"
#include "tessera/md/domain/decomposition.h"
#include "tessera/md/memory/planned_memory.h"
#include "tessera/md/memory/room.h"
#include "tessera/md/pme/plan.h"

namespace tessera::app {

namespace {

using nlohmann::json;

/// A choice that was made, and why.
struct Decision {
  std::string what, value, why;
};

/// How a run on these ranks is laid out; all by plans, without MPI.
struct RankLayout {
  Box frame{};  // the box, or in a vacuum the frame that the run begins with
  md::CellPlan cells{};
  std::int64_t least_cells = 0, most_cells = 0, most_halo_cells = 0;
  std::size_t most_peers = 0;
  Memory memory{};              // of the rank that needs most
  std::int64_t device_bytes{};  // of that rank on a GPU; 0: none is used
  double atoms_of_largest = 0;  // on that rank
  std::string mesh{};           // empty: none
  Decision order{};             // of ranks
  Decision transform{};         // of the mesh
  Decision sums{};              // of energies over all ranks; empty without a map
  double exchange_seconds = 0;  // of its transforms in a step, on the map that is given
  std::optional<md::Plan> plan{};
  machine::Wires wires;  // of one host where no map is given
};

/// Doubles the edges of a vacuum's frame as the run will at its start, and returns where its atoms are.
md::vacuum::Extent fit_frame(Box& frame, const RunConfig& config, const model::System& system,
                             const md::EngineSettings& settings) {
  if (system.is_periodic) return md::vacuum::anywhere;
  auto extent = md::vacuum::nowhere;
  const auto start = read_start(config.input.system, config, system, comm::Communicator::world());
  for (const auto& place : start.block.fraction) extent.add(place);
  (void)md::vacuum::fit(frame, extent, settings.pair.range(), settings.buffer);
  return extent;
}

RankLayout plan_layout(const RunConfig& config, const model::System& system, const md::EngineSettings& settings,
                       const std::optional<Map>& map, int ranks, int threads) {
  RankLayout layout{.wires = map ? machine::wires_of_job(map->network(), ranks) : fft::wires_of_one_host(ranks)};
  const auto& wires = layout.wires;
  const std::string network = map ? "the map " + map->path : "one host";
  const auto line = settings.reorder ? comm::RankLine::along(wires) : comm::RankLine::as_numbered(ranks);
  const auto plan_transform = [&](const fft::TransformProblem& problem) {
    const std::int64_t real_bytes = settings.precision == Precision::double_precision ? 8 : 4;
    const bool is_tried = settings.fft_scheme == "trial";
    auto candidates = fft::rank_schemes(problem, real_bytes, wires, is_tried ? "auto" : settings.fft_scheme);
    layout.transform = {"transform", candidates.front().plan.scheme,
                        fmt::format("{} on {}; predicted: {}",
                                    is_tried                        ? "least predicted time (the run will try)"
                                    : settings.fft_scheme == "auto" ? "least time"
                                                                    : "asked for",
                                    network, fft::text_of(candidates))};
    layout.exchange_seconds = candidates.front().predicted.exchanges;
    return std::move(candidates.front().plan);
  };
  if (map && ranks > 1 && ranks <= collectives::most_ranks_to_choose_for) {
    const auto [by, why] = plan_sum(md::Forces::n_summed(settings.force_groups.size()), wires, map->file);
    layout.sums = {"sum of energies", by, why};
  }
  layout.frame = system.box;
  const auto extent = fit_frame(layout.frame, config, system, settings);
  const auto summary = md::summary_of(system, extent);
  md::check_room_for_cells(md::plan_cells(summary, settings, layout.frame).grid,
                           settings.is_replicated ? 1 : ranks);  // all are gone through below
  layout.plan = md::make_plan(summary, settings, layout.frame, line, plan_transform);
  const auto& plan = *layout.plan;
  layout.cells = plan.cells;
  layout.order = {"cells of ranks", settings.reorder ? "neighbours on one host, then in one subnet" : "as numbered",
                  settings.reorder ? network : "asked for"};
  layout.least_cells = layout.cells.grid.size();
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& brick = plan.bricks.brick(rank);
    layout.least_cells = std::min(layout.least_cells, brick.size());
    layout.most_cells = std::max(layout.most_cells, brick.size());
    layout.most_halo_cells = std::max(layout.most_halo_cells, md::domain::n_halo_cells(plan.bricks, rank));
  }
  // The neighbours of the ranks with the largest bricks; a few stand for all on large machines.
  int looked_at = 0;
  for (int rank = 0; rank < ranks && looked_at < 64; ++rank) {
    if (plan.bricks.brick(rank).size() != layout.most_cells) continue;
    ++looked_at;
    layout.most_peers = std::max(layout.most_peers, md::domain::find_halo_peers(plan.bricks, rank).size());
  }
  const auto contents = md::contents_of(system, settings);
  const int largest = md::find_largest_rank(contents, settings, plan, threads);
  for (const auto& use : md::planned_memory(contents, settings, plan, largest, threads))
    layout.memory.owners.push_back({std::string(use.owner), use.bytes});
  if (config.parallel.device == DeviceChoice::gpu)
    layout.device_bytes = md::planned_device_bytes(contents, settings, plan, largest);
  layout.atoms_of_largest = static_cast<double>(system.n_atoms()) *
                            static_cast<double>(plan.bricks.brick(largest).size()) /
                            static_cast<double>(layout.cells.grid.size());
  if (plan.mesh) layout.mesh = plan.mesh->summary();
  while (layout.mesh.ends_with('\n')) layout.mesh.pop_back();
  return layout;
}

/// Returns the bytes that the frames of all trajectories take on a rank that writes them.
std::int64_t frame_memory(const RunConfig& config, const std::string& machine_file, std::int64_t n_atoms, int ranks) {
  std::int64_t bytes = 0;
  for (const auto& one : trajectories_of(config.output)) {
    const auto atoms = atoms_of(one, config, n_atoms).size();
    bytes += planned_frame_memory(one, atoms, plan_writers(one, config.output, machine_file, atoms, ranks));
  }
  return bytes;
}

std::string text_of_edges(const Box& box) {
  const auto edges = box.edges();
  return fmt::format("{:.1f} × {:.1f} × {:.1f} Å", edges[0], edges[1], edges[2]);
}

std::vector<Decision> list_choices(const RunConfig& config, const model::System& system,
                                   const md::EngineSettings& settings, const RankLayout& layout) {
  const auto& pair = settings.pair;
  std::vector<Decision> choices;
  if (!system.is_periodic)
    choices.push_back({"frame", text_of_edges(layout.frame),
                       layout.frame == system.box
                           ? "as in the file; it doubles where atoms spread, and nothing repeats"
                           : fmt::format("the file's {} would be too small: it doubles at the start, and where atoms "
                                         "spread; nothing repeats",
                                         text_of_edges(system.box))});
  choices.push_back({"cells",
                     fmt::format("{} × {} × {}, widths {:.2f} {:.2f} {:.2f} Å", layout.cells.grid.n[0],
                                 layout.cells.grid.n[1], layout.cells.grid.n[2], layout.cells.grid.width[0],
                                 layout.cells.grid.width[1], layout.cells.grid.width[2]),
                     fmt::format("at least half of {:.2f} Å, {} and buffer; from {} alone",
                                 layout.cells.range + layout.cells.buffer, system.is_periodic ? "cut-off" : "range",
                                 system.is_periodic ? "the box and the cut-off" : "where atoms are and the cut-off")});
  choices.push_back(layout.order);
  if (layout.plan->bricks.is_replicated())
    choices.push_back({"data", "replicated: every rank has all atoms, and an even share of the pairs",
                       describe_vectors(*layout.plan, system.n_atoms())});
  choices.push_back({"pair scheme", std::string(md::pair::scheme_name(settings.precision)),
                     "follows from parallel.precision, never from timing"});
  choices.push_back({"instruction set", instruction_set(), "the best this machine has; bits are the same with any"});
  const auto note = note_of_source(config, system);
  const auto potentials = text_of_pair_potentials(system);
  if (!potentials.empty())
    choices.push_back({"pair potentials", potentials, "of the system, in place of Lennard-Jones; looked up in tables"});
  choices.push_back(
      {"Lennard-Jones", text_of(lj_in_effect(settings)), note.empty() ? "as the source of the system has it" : note});
  choices.push_back({"electrostatics", text_of_electrostatics(settings),
                     "interactions.electrostatics; it doesn't follow the source"});
  choices.push_back({"Coulomb constant", fmt::format("{}", pair.coulomb_constant),
                     fmt::format("of the program the input was written for ({})", system.coulomb_source)});
  if (pair.electrostatics == md::pair::Electrostatics::pme) {
    choices.push_back(
        {"Ewald α", fmt::format("{:.5f} Å⁻¹", pair.alpha),
         config.pme.alpha > 0 ? "asked for" : fmt::format("erfc(α·cutoff) = {:g}", config.pme.tolerance)});
    choices.push_back({"mesh",
                       fmt::format("{} × {} × {}, order {}", settings.pme_grid[0], settings.pme_grid[1],
                                   settings.pme_grid[2], settings.pme_order),
                       config.pme.grid.empty()
                           ? fmt::format("spacing at most {} Å, sizes of 2, 3, 5, 7", config.pme.spacing)
                           : "asked for"});
    choices.push_back(layout.transform);
  }
  if (!layout.sums.what.empty()) choices.push_back(layout.sums);
  choices.push_back({"pair search",
                     fmt::format("every {} steps or when an atom has moved {:.2f} Å", settings.search_every,
                                 0.5 * layout.cells.buffer),
                     "no pair may be missed: two atoms may close the buffer between them"});
  choices.push_back(
      {"pair list",
       fmt::format("made anew when an atom has gone further than about {} steps would take it", settings.list_steps),
       "from the cells around; which list it is doesn't change the result"});
  return choices;
}

RunConfig with_selections(RunConfig config, const std::string& selections) {
  if (!selections.empty()) config.selections = Selections::parse(read_selections_text(selections), selections);
  return config;
}

Protocol read_all(const std::string& run_file, const std::vector<std::string>& overrides,
                  const std::string& selections) {
  auto protocol = read_protocol(run_file, overrides);
  protocol.config = with_selections(protocol.config, selections);
  for (auto& stage : protocol.stages) stage.config.selections = protocol.config.selections;
  return protocol;
}

/// Returns the threads of a rank: as asked for, or as many as it has cores on the planned machine.
int planned_threads(const ExplainRequest& request, const RunConfig& config, const std::optional<Map>& map) {
  const int asked = request.threads > 0 ? request.threads : static_cast<int>(config.parallel.threads);
  if (!request.fills_cores) return asked;
  if (!map)  // one host, or hosts that are full
    return request.cores_per_node > 0 ? std::max(1, request.cores_per_node / request.ranks) : asked;
  int least = 0;
  for (const auto& [ranks, cores] : hosts_of_map(*map, request.ranks, request.cores_per_node))
    if (ranks > 0) least = least == 0 ? cores / ranks : std::min(least, cores / ranks);
  return std::max(1, least);
}

/// How far predictions for this host are from runs at most, as parts of what is observed (bench/md/predictions.py). The
/// time was compared where each thread has a core of its own and all atoms were measured.
constexpr double error_of_time = 0.20, error_of_memory = 0.15;

/// Returns how long to measure: as asked for, or long enough for some pair lists and searches.
TrialLength length_of_measurement(const ExplainRequest& request) {
  if (request.measured_steps > 0) return TrialLength::of(request.measured_steps);
  return {.least = 10, .most = 1000, .seconds = 1};
}

/// Returns how many of the plan's threads compute at once on this host, which all of its cores do not do as much faster
/// as there are: they share caches, memory and power, and two threads of hardware a core.
int threads_at_once(int ranks, int threads) {
  const auto usable = machine::describe_this_host().usable_threads.value_or(1);
  return static_cast<int>(std::min<std::int64_t>(std::max(1, usable), std::int64_t{ranks} * threads));
}

/// Returns the memory of a rank that has no atoms: what this process has now, and what a run touches later.
std::int64_t bytes_of_program(int ranks) {
  // As measured: pages of the program that steps and output touch, and an MPI library (Open MPI 4.1 takes 9, MPICH 4 16).
  constexpr std::int64_t of_run = 16'000'000, of_mpi = 12'000'000;
  std::int64_t all = 0, resident = 0;  // pages
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE) + of_run + (ranks > 1 ? of_mpi : 0);
}

/// Returns a folder, or where it is to be made.
std::string folder_that_exists(const std::string& folder) {
  std::error_code ignored;
  auto path = std::filesystem::absolute(folder, ignored);
  while (!std::filesystem::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path;
}

/// Returns a text such as "trajectory 12.3 MB (51 frames), each checkpoint 0.4 MB; 70 GB are free".
std::string text_of_files(const PlannedOutput& output, const std::optional<Room>& room) {
  std::string text;
  for (const auto& [name, frames, bytes] : output.trajectories)
    text += fmt::format("{} {} ({} frames), ", name, size_text(bytes), grouped(frames));
  text += fmt::format("each checkpoint {}", size_text(output.checkpoint));
  if (!room) return text;
  const bool is_enough = output.bytes_as_it_goes() + output.bytes_of_checkpoints() <= room->bytes;
  const auto left = size_text(room->bytes);
  return text +
         (room->is_of_quota ? fmt::format("; the quota leaves {}", left)
                            : fmt::format("; {} are free on the disk", left)) +
         (is_enough ? "" : ", which is not enough");
}

/// The plan of one run, as text and for programs.
struct PlanOfRun {
  std::string layout, prediction;
  json result;
};

/// A run that is planned, with all that was read for it.
struct PlannedRun {
  const RunConfig& config;
  model::System system;
  md::EngineSettings settings;
  std::optional<Map> map;
  int threads;  // of a rank
  RankLayout layout;
};

/// What stages of one rate share: the step that was measured, and the layouts that were planned beside their own.
struct Rate {
  Measurement measurement;
  std::optional<std::vector<OtherLayout>> other_layouts{};
};

/// Those of a protocol, by settings_of_rate().
using Rates = std::map<std::string, Rate>;

/// Predicts a run from a step that was measured: as text, and in `predicted` for programs.
std::string predict_run(const ExplainRequest& request, const PlannedRun& run, Rate& rate, json& predicted) {
  const auto& [config, system, settings, map, threads, layout] = run;
  const auto& measurement = rate.measurement;
  const auto& measured = *measurement.step;
  const auto atoms = static_cast<double>(system.n_atoms());
  const double measured_seconds = measured.time.seconds * atoms / static_cast<double>(measured.n_atoms);
  const auto crowding = find_crowding(map, request.ranks, threads, request.cores_per_node);
  const bool has_map = map.has_value();
  const auto predict = [&](const RankLayout& its_layout, int its_threads, const Crowding& its_crowding) {
    return predict_step(measured, *its_layout.plan, system.n_atoms(),
                        {its_threads, its_crowding.most, has_map ? &its_layout.wires : nullptr,
                         has_map ? its_layout.exchange_seconds : 0});
  };
  const auto step = predict(layout, threads, crowding);
  const double seconds = step.seconds();
  const double speed = ns_per_day(config.dynamics.timestep, seconds);
  // Messages between hosts may take longer than all computing.
  const bool is_known = has_map || crowding.hosts == 1;
  predicted.update({{is_known ? "ms_per_step" : "ms_of_computing", 1e3 * seconds},
                    {"ranks_and_threads_per_core", crowding.most},
                    {"measured_ms_per_step_one_rank", 1e3 * measured_seconds},
                    {"measured_threads", measured.threads},
                    {"measured_steps", measured.time.steps},
                    {"measured_atoms", measured.n_atoms},
                    {"includes_communication", step.has_exchanges}});
  if (is_known) predicted["ns_per_day"] = speed;
  if (is_known) predicted["seconds"] = seconds * static_cast<double>(config.dynamics.steps);
  const bool is_of_this_host = !has_map && request.cores_per_node == 0;
  const bool is_time_known = is_of_this_host && crowding.most <= 1 && measured.n_atoms == system.n_atoms();
  if (is_of_this_host) predicted["errors"]["memory of a rank"] = error_of_memory;
  if (is_time_known) predicted["errors"]["time of a step"] = error_of_time;
  if (measurement.start_seconds > 0) predicted["start_seconds"] = measurement.start_seconds;
  for (const auto& part : step.parts) predicted["ms_of_parts"][part.name] = 1e3 * part.seconds;
  auto text = fmt::format(
      "\nprediction (from {} steps{} on {} thread{} of this machine: {:.1f} ms each)\n  {:.1f} ms {}{}\n  of it: {}\n",
      measured.time.steps,
      measured.n_atoms < system.n_atoms()
          ? fmt::format(" of {} atoms that were cut out, scaled to all,", grouped(measured.n_atoms))
          : "",
      measured.threads, measured.threads == 1 ? "" : "s", 1e3 * measured_seconds, 1e3 * seconds,
      is_known ? fmt::format("a step, {:.2f} ns/day{}", speed,
                             is_time_known ? fmt::format(" ± {:.0f} %", 100 * error_of_time)
                                           : ", with an error that is not known")
               : "of computing a step",
      crowding.most > 1 || request.cores_per_node > 0 || has_map ? fmt::format(" ({})", crowding.text) : "",
      step.text());
  if (is_known && !rate.other_layouts)
    rate.other_layouts = other_layouts(request.ranks, threads, [&](int ranks, int its_threads) {
      return predict(plan_layout(config, system, settings, map, ranks, its_threads), its_threads,
                     find_crowding(map, ranks, its_threads, request.cores_per_node))
          .seconds();
    });
  const auto layouts = rate.other_layouts.value_or(std::vector<OtherLayout>());
  for (const auto& other : layouts) {
    predicted["other_layouts"].push_back(
        {{"ranks", other.ranks}, {"threads", other.threads}, {"ms_per_step", 1e3 * other.seconds}});
    text += fmt::format("{}{}", &other == &layouts.front() ? "  by other ranks × threads: " : ", ", other.text());
  }
  if (!layouts.empty()) text += "\n";
  if (is_known)
    text +=
        fmt::format("  {} steps take {}{}\n  {}\n", grouped(config.dynamics.steps),
                    duration_text(seconds * static_cast<double>(config.dynamics.steps)),
                    measurement.start_seconds > 0
                        ? fmt::format(", after {:.2g} s to read and to make ready", measurement.start_seconds)
                        : "",
                    has_map ? "migration, sums over all ranks and output are not in it"
                            : "communication is not in it: no map of the machine's links is given (parallel.machine)");
  else
    text +=
        "  no speed is predicted: the links between the hosts are not known, and messages may take longer than all "
        "computing; give a map of the machine (parallel.machine, tessera machine measure)\n";
  return text;
}

/// Reads what a run needs, but for coordinates, and lays it out. Throws InputError.
PlannedRun plan_run(const ExplainRequest& request, const RunConfig& config) {
  auto system = read_run_system(config.input.system, config);
  take_box_of_start(system, config);
  auto settings = plan_settings(config, system);
  check_trajectories(config, system);
  auto map = read_map(settings.machine_file);
  const int threads = planned_threads(request, config, map);
  auto layout = plan_layout(config, system, settings, map, request.ranks, threads);
  auto& owners = layout.memory.owners;
  if (const auto bytes = frame_memory(config, settings.machine_file, system.n_atoms(), request.ranks); bytes > 0)
    owners.push_back({"frames to be written", bytes});
  if (config.output.black_box)  // of stages that minimise, too, so that stages of one layout have one plan
    owners.push_back({std::string(memory_of_last_states),
                      LastStates::most_kept * PackedState::planned_bytes(std::llround(layout.atoms_of_largest))});
  return {config, std::move(system), std::move(settings), std::move(map), threads, std::move(layout)};
}

/// Explains one run. `rates`: of the stages above, if the run is a stage, to be added to. Where the coordinates
/// are those that stages above will move first, a step that can't be made is told of in the prediction.
/// `program_bytes`: of a process that has no atoms yet.
PlanOfRun explain_run(const ExplainRequest& request, const RunConfig& config, std::int64_t program_bytes, Rates& rates,
                      bool is_below_others) {
  const auto run = plan_run(request, config);
  const auto& [its_config, system, settings, map, threads, layout] = run;
  const auto choices = list_choices(config, system, settings, layout);
  const auto machine = machine::describe_this_host();

  json result = {{"atoms", system.n_atoms()},
                 {"ranks", request.ranks},
                 {"threads", threads},
                 {"edges", layout.frame.edges()},
                 {"cells", layout.cells.grid.n},
                 {"cells_of_a_rank", {layout.least_cells, layout.most_cells}},
                 {"halo_cells", layout.most_halo_cells},
                 {"neighbours", layout.most_peers},
                 {"machine", machine.summary()},
                 {"settings", to_json(in_effect(config, settings))}};
  for (const auto& choice : choices)
    result["choices"].push_back({{"what", choice.what}, {"value", choice.value}, {"why", choice.why}});
  const double mean_cells = static_cast<double>(layout.cells.grid.size()) / request.ranks;
  const double imbalance = static_cast<double>(layout.most_cells) / mean_cells;
  result["imbalance_of_cells"] = imbalance;

  std::string text =
      fmt::format("{} atoms in {} × {} × {} cells on {} rank{} × {} thread{}\n", grouped(system.n_atoms()),
                  layout.cells.grid.n[0], layout.cells.grid.n[1], layout.cells.grid.n[2], request.ranks,
                  request.ranks == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
  text += fmt::format("this machine: {}\n\nlayout\n", machine.summary());
  text += fmt::format(
      "  a rank owns {} to {} cells (largest over mean {:.2f}), has up to {} halo cells from {} neighbours\n",
      layout.least_cells, layout.most_cells, imbalance, layout.most_halo_cells, layout.most_peers);
  if (!layout.mesh.empty()) text += fmt::format("  {}\n", layout.mesh);
  const auto bytes = static_cast<double>(layout.memory.bytes());
  const double peak = bytes + static_cast<double>(program_bytes);
  text += fmt::format("  the largest rank needs {:.1f} MB, and {:.1f} MB with the program and its libraries\n  {}\n",
                      bytes / 1e6, peak / 1e6, memory_text(layout.memory, std::llround(layout.atoms_of_largest)));
  if (layout.device_bytes > 0)
    text += fmt::format("  {:.1f} MB on the GPU\n", static_cast<double>(layout.device_bytes) / 1e6);
  auto& predicted = result["predicted"];
  predicted = {{"bytes_per_atom", bytes / std::max(1.0, layout.atoms_of_largest)},
               {"megabytes_a_rank", bytes / 1e6},
               {"peak_megabytes_a_rank", peak / 1e6}};
  for (const auto& owner : layout.memory.owners) predicted["memory"][owner.name] = owner.bytes;
  if (layout.device_bytes > 0) predicted["device_megabytes_a_rank"] = static_cast<double>(layout.device_bytes) / 1e6;
  text += "\nchoices\n";
  for (const auto& choice : choices)
    text += fmt::format("  {:<17} {}\n  {:<17} because: {}\n", choice.what, choice.value, "", choice.why);

  if (config.kind != StageKind::dynamics) return {text, "", result};
  const auto output = plan_output(config, system, -1, 3 * row_bytes_of_triples * system.n_atoms());
  const auto megabytes = [](std::int64_t n) { return static_cast<double>(n) / 1e6; };
  predicted.update({{"trajectory_megabytes", megabytes(output.bytes_of_frames())},
                    {"checkpoint_megabytes", megabytes(output.checkpoint)}});
  for (const auto& one : output.trajectories)
    predicted["trajectories"][one.name] = {{"frames", one.frames}, {"megabytes", megabytes(one.bytes)}};
  const auto room = room_in(folder_that_exists(config.output.folder));
  if (room) predicted["free_megabytes"] = megabytes(room->bytes);
  const auto files = fmt::format("\nfiles\n  {}\n", text_of_files(output, room));
  if (request.measured_steps == 0) return {text, files, result};
  const auto [found, is_new] = rates.try_emplace(settings_of_rate(config, settings));
  auto& measurement = found->second.measurement;
  if (is_new)
    measurement = measure_step(length_of_measurement(request), threads_at_once(request.ranks, threads), config, system,
                               settings, is_below_others);
  const auto prediction =
      measurement.step
          ? predict_run(request, run, found->second, predicted)
          : fmt::format("\nno prediction: no step can be measured before the stages above have moved the atoms ({})\n",
                        measurement.problem);
  return {text, prediction + files, result};
}

/// Lists the stages, and in what each differs from the one above.
std::pair<std::string, json> list_stages(const Protocol& protocol) {
  std::string text = fmt::format("{} stages\n", protocol.stages.size());
  json result = json::array();
  const auto* above = &protocol.config;
  double picoseconds = 0;
  for (const auto& [name, config] : protocol.stages) {
    const auto differences = list_differences(config, *above);
    if (config.kind == StageKind::minimize) {
      text += fmt::format("  {}: minimises to forces below {:g} kcal/mol/Å, in at most {} steps\n", name,
                          config.minimize.max_force, grouped(config.minimize.steps));
    } else {
      const double length = static_cast<double>(config.dynamics.steps) * config.dynamics.timestep;
      picoseconds += length;
      text += fmt::format("  {}: {} steps, {:.6g} ps\n", name, grouped(config.dynamics.steps), length);
    }
    for (const auto& difference : differences) text += fmt::format("    {}\n", difference);
    result.push_back({{"name", name},
                      {"kind", names_of(config.kind)[static_cast<std::size_t>(config.kind)]},
                      {"differences", differences},
                      {"settings", to_json(config)}});
    above = &config;
  }
  text += fmt::format("  all: {:.6g} ps\n", picoseconds);
  return {text, result};
}

}  // namespace

std::string explain(const ExplainRequest& request) {
  const auto protocol = read_all(request.run_file, request.overrides, request.selections);
  for (const auto& note : notes_of_removed(protocol)) comm::print_note("tessera-md", note);
  const auto program_bytes = bytes_of_program(request.ranks);
  if (protocol.stages.empty()) {
    Rates rates;
    const auto plan = explain_run(request, protocol.config, program_bytes, rates, false);
    return request.json ? json_text(plan.result, 2) + "\n" : plan.layout + plan.prediction;
  }
  check_stages(protocol.stages, 0, false, request.ranks);
  auto [text, list] = list_stages(protocol);
  std::map<std::string, std::string> told;  // the stage whose layout was told
  Rates rates;
  double seconds = 0;
  bool is_known = true;
  for (std::size_t i = 0; i < protocol.stages.size(); ++i) {
    auto [name, config] = protocol.stages[i];
    config.input.start = protocol.stages.front().config.input.start;  // the stage above has not run
    const auto [layout, prediction, result] = explain_run(request, config, program_bytes, rates, i > 0);
    const auto [as, is_new] = told.try_emplace(layout, name);
    text += is_new ? fmt::format("\nthe plan of {}\n{}", name, layout)
                   : fmt::format("\nthe plan of {}: as that of {}\n", name, as->second);
    text += prediction;
    list[i]["plan"] = result;
    if (config.kind != StageKind::dynamics) continue;
    const auto& predicted = result.at("predicted");
    is_known = is_known && predicted.contains("seconds");
    if (is_known) seconds += predicted.at("seconds").get<double>();
  }
  json all = {{"stages", list}};
  if (is_known) {
    all["predicted"] = {{"seconds_of_dynamics", seconds}};
    text += fmt::format("\nall stages of dynamics take {}\n", duration_text(seconds));
  }
  return request.json ? json_text(all, 2) + "\n" : text;
}

std::string list_selections(const std::string& run_file, const std::vector<std::string>& overrides) {
  const auto protocol = read_protocol(run_file, overrides);
  auto selections = json::array();
  auto references = json::object();
  const auto add = [&](const RunConfig& config, const std::string& prefix) {
    for (const auto& [key, text, decides_bits] : selections_of(config))
      if (!Selections::is_plain(text)) selections.push_back({{"key", prefix + key}, {"text", text}});
    for (std::size_t row = 0; row < config.restraints.size(); ++row)
      if (const auto& path = config.restraints[row].reference; !path.empty())
        references[fmt::format("{}restraint.{}.reference", prefix, row)] = path;
  };
  if (protocol.stages.empty()) add(protocol.config, "");
  for (const auto& stage : protocol.stages) add(stage.config, fmt::format("stage.{}.", stage.name));
  return json_text({{"system", protocol.config.input.system},
                    {"folder", protocol.config.output.folder},
                    {"selections", selections},
                    {"references", references}}) +
         "\n";
}

void check_run(const std::string& run_file, const std::vector<std::string>& overrides, const std::string& selections,
               bool is_restart, int ranks) {
  const auto protocol = read_all(run_file, overrides, selections);
  if (!protocol.stages.empty()) return check_stages(protocol.stages, 0, is_restart, ranks);
  const auto& config = protocol.config;
  auto system = read_run_system(config.input.system, config);
  if (is_restart)
    take_box_of_restart(system, config.output.folder);
  else
    take_box_of_start(system, config);
  check_trajectories(config, system);
  (void)md::domain::plan_decomposition(
      md::plan_cells(md::summary_of(system), plan_settings(config, system), system.box).grid, ranks);
}

}  // namespace tessera::app
