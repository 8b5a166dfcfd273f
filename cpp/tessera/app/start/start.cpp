#include "tessera/app/start/start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/app/config/baths.h"
#include "tessera/app/numbers_text.h"
#include "tessera/app/restart/checkpoint_file.h"
#include "tessera/app/restart/fingerprint.h"
#include "tessera/app/start/coordinates.h"
#include "tessera/base/error.h"
#include "tessera/base/units.h"
#include "tessera/comm/on_root.h"

namespace tessera::app {

namespace {

/// Says which atoms there are and in which order. All else of a system may differ from that of the run before.
constexpr std::array<std::string_view, 6> parts_of_atoms = {
    "periodic",          "instances/runs",        "templates/atom_name", "templates/atomic_number",
    "templates/residue", "templates/residue_name"};
/// Differs as a rule: the box changes in a run, and dynamics.hydrogen_mass changes masses.
constexpr std::array<std::string_view, 2> parts_of_settings = {"box", "templates/mass"};

template <class Parts>
bool contains(const Parts& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

/// Names the folders in this one that could be meant.
std::string hint_at_folders(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (find_checkpoint_header(entry.path().string()) && entry.is_directory(error))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names.empty() ? "" : fmt::format("; of its folders these hold one: {}", fmt::join(names, ", "));
}

/// Accepts "equil/checkpoint" for equil/checkpoint.tck.
std::string with_ending(const std::string& start) {
  std::error_code ignored;
  const auto whole = start + ".tck";
  return !std::filesystem::exists(start, ignored) && std::filesystem::exists(whole, ignored) ? whole : start;
}

[[noreturn]] void refuse_start(const std::string& start) {
  std::error_code ignored;
  if (std::filesystem::is_directory(start, ignored))
    throw InputError(fmt::format("input.start: the folder {} holds no checkpoint, expected the folder of a run{}",
                                 start, hint_at_folders(start)));
  throw InputError(
      fmt::format("input.start: there is no {}, expected the folder of a run or a checkpoint (*.tck)", start));
}

/// Throws InputError where the atoms are others; returns what else is to be known.
std::string compare(const Checkpoint& checkpoint, const std::string& path, const model::System& system,
                    const RunConfig& config) {
  std::vector<std::string> atoms, others;
  for (auto& part : changed_parts(checkpoint.settings.value("input.system", nlohmann::json()), fingerprint(system))) {
    if (contains(parts_of_atoms, part))
      atoms.push_back(std::move(part));
    else if (!contains(parts_of_settings, part))
      others.push_back(std::move(part));
  }
  if (!atoms.empty() || checkpoint.n_atoms != system.n_atoms())
    throw InputError(
        fmt::format("input.start: {} is of another system ({} atoms) than {} ({} atoms){}; expected the same atoms in "
                    "the same order",
                    path, grouped(checkpoint.n_atoms), config.input.system, grouped(system.n_atoms()),
                    atoms.empty() ? "" : fmt::format(": these parts differ: {}", fmt::join(atoms, ", "))));
  std::string note;
  if (!others.empty())
    note += fmt::format("; {} differs from the system of that run in {}", config.input.system, fmt::join(others, ", "));
  if (has_noise(config.dynamics) &&
      checkpoint.settings.value("dynamics.seed", std::int64_t{-1}) == config.dynamics.seed)
    note += fmt::format("; that run had dynamics.seed = {} too, so the baths repeat its random numbers: set another",
                        config.dynamics.seed);
  return note;
}

}  // namespace

void take_box_of_start(model::System& system, const RunConfig& config) {
  if (config.input.start.empty()) return;
  const auto start = with_ending(config.input.start);
  std::string problems;
  const auto header = find_checkpoint_header(start, &problems);
  if (!header && problems.empty()) refuse_start(start);
  if (!header) throw InputError(fmt::format("input.start: no good checkpoint in {}: {}", start, problems));
  system.box = header->state.box;
}

void take_box_of_restart(model::System& system, const std::string& folder) {
  const auto header = find_checkpoint_header(folder);
  if (header && header->origin) system.box = header->origin->box;
}

RunStart read_start(const SystemSource& source, const RunConfig& config, const model::System& system,
                    const comm::Communicator& comm) {
  RunStart start;
  if (config.input.start.empty()) {
    on_each_rank(comm, [&] { start.block = read_coordinates(source, comm.rank(), comm.size()); });
    return start;
  }
  const auto named = with_ending(config.input.start);
  auto found = find_checkpoint(named, comm);
  if (!found) refuse_start(named);
  auto& [checkpoint, path, note] = *found;
  auto& state = checkpoint.state;
  on_root(comm, [&] {
    const auto remarks = compare(checkpoint, path, system, config);
    if (!(state.box == system.box)) throw InputError(fmt::format("input.start: {} has changed meanwhile", path));
    start.note = fmt::format("the run starts from step {} of {}{}{}", grouped(state.step), path,
                             note.empty() ? "" : "; " + note, remarks);
  });
  start.origin = Origin{system.box, checkpoint.checksum};
  join_groups(state, system, comm);
  auto& block = start.block;
  const bool has_own_velocities = std::any_of(state.atoms.begin(), state.atoms.end(),
                                              [](const auto& atom) { return !(atom.velocity == md::Velocity{}); });
  const bool has_velocities = comm::all_reduce_max(comm, has_own_velocities ? 1 : 0) != 0;
  // Leapfrog's velocities stand half a step of that run before the positions.
  if (has_velocities && state.velocity_time == md::VelocityTime::half_step_before)
    block.velocity_lag = 0.5 * checkpoint.settings.at("dynamics.timestep").get<double>() * units::femtosecond;
  for (const auto& atom : state.atoms) {
    block.id.push_back(atom.id);
    block.fraction.push_back(atom.position + atom.displacement);
    const auto& v = atom.velocity;
    if (has_velocities)
      block.velocity.push_back(md::velocity_unit *
                               Vec3{static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)});
  }
  return start;
}

void begin(md::Engine& engine, CoordinateBlock block, const RunConfig& config, const comm::Communicator& comm) {
  const auto& system = engine.system();
  const auto& source = config.input.start.empty() ? config.input.system : config.input.start;
  const bool has_velocities = comm::all_reduce_max(comm, block.velocity.empty() ? 0 : 1) != 0;
  auto velocities = config.dynamics.velocities;
  if (velocities == Velocities::automatic) velocities = has_velocities ? Velocities::file : Velocities::generate;
  if (velocities == Velocities::file && !has_velocities)
    throw InputError(fmt::format("{} holds no velocities: set dynamics.velocities to \"generate\"", source));
  if (velocities != Velocities::file)
    for (auto& v : block.velocity) v = {};
  check_every_atom_once(comm, block, system, source);
  md::Snapshot start;
  comm::on_each_rank(comm, [&] {
    try {
      start = make_start(system, block);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", source, error.what()));
    }
  });
  double lag = velocities == Velocities::file ? block.velocity_lag : 0;
  comm.all_reduce_max(std::span(&lag, 1));
  block = {};
  engine.set_state(std::move(start));
  engine.constrain_start();
  if (lag > 0) engine.advance_velocities(lag);
  if (velocities == Velocities::generate)
    engine.generate_velocities(config.dynamics.temperature.at(0), static_cast<std::uint64_t>(config.dynamics.seed));
  engine.measure();
}

}  // namespace tessera::app
