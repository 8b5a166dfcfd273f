#include "tessera/app/black_box/black_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/app/black_box/causes.h"
#include "tessera/app/black_box/first_trouble.h"
#include "tessera/app/config/read_config.h"
#include "tessera/app/config/time_step.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/observers/energies.h"
#include "tessera/app/observers/frames.h"
#include "tessera/app/output/folder.h"
#include "tessera/app/output/room.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/comm/job.h"
#include "tessera/comm/on_root.h"

namespace tessera::app {

namespace {

/// Returns the settings of the short run: each step in full, of all atoms.
RunConfig config_of_black_box(const RunConfig& failed) {
  auto config = failed;
  auto& output = config.output;
  output = OutputConfig{};
  output.folder = fmt::format("{}/{}", failed.output.folder, black_box_folder);
  output.overwrite = true;
  output.trajectory_every = output.energy_every = 1;
  output.velocities = output.forces = true;
  output.wrap = failed.output.wrap;
  return config;
}

/// Returns how many frames the black box holds: 20, or of large systems as many as fit into 256 MB and a tenth of the
/// disk, and never fewer than 2.
std::int64_t frames_that_fit(const RunConfig& config, const model::System& system) {
  constexpr std::int64_t most = 20, fewest = 2, most_bytes = 256 << 20;
  const auto its_room = room_in(config.output.folder);
  const auto room = std::min(most_bytes, its_room ? its_room->bytes / 10 : most_bytes);
  return std::clamp(room / frame_bytes(trajectories_of(config.output).front(), system.n_atoms()), fewest, most);
}

/// What the short run writes: a checkpoint and energies from its start on, frames from a later step on.
class Recording {
 public:
  /// Makes the folder. Throws InputError, RunError, alone.
  Recording(const RunConfig& config, Simulation& simulation)
      : files_(simulation.comm().is_root() ? std::make_unique<OutputFiles>(config, simulation.system(), false)
                                           : nullptr),
        energies_(config.output.energy_every, files_.get()),
        simulation_(simulation) {}
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() {
    simulation_.detach(energies_);
    simulation_.detach(frames_);
  }

  void begin() {
    energies_.start(simulation_);
    comm::on_root(simulation_.comm(),
                  [&] { files_->begin(to_toml(in_effect(simulation_.config(), simulation_.settings()))); });
    simulation_.save(simulation_.config().output.folder);
    simulation_.attach(energies_);
  }
  void begin_frames() {
    frames_.prepare(simulation_);
    frames_.start(simulation_);
    frames_.begin();
    simulation_.attach(frames_);
  }
  void finish() { frames_.synchronize(); }
  /// Counts frames, on the root.
  std::int64_t n_frames() const {
    if (!files_) return 0;
    const auto frames = frames_.n_frames();
    return frames.empty() ? 0 : frames.begin()->second;
  }
  /// Returns the last step that was recorded; nothing where none was.
  std::optional<std::int64_t> last_step() const {
    const auto& sample = energies_.last_sample();
    return sample ? std::optional(sample->first) : std::nullopt;
  }

 private:
  std::unique_ptr<OutputFiles> files_;
  EnergyRecorder energies_;
  FrameRecorder frames_;
  Simulation& simulation_;
};

/// Finds how much the box changed up to that of the last step: the greatest change of an edge since the first that is
/// known.
BoxChange change_of_box(const LastStates& states, const Box& last) {
  const auto& [first_step, first] = states.boxes().front();
  BoxChange change{0, states.last_step() - first_step};
  const auto compare = [&, &before = first](const Box& box) {
    for (std::size_t d = 0; d < 3; ++d)
      change.of_an_edge = std::max(change.of_an_edge, std::abs(box.edges()[d] / before.edges()[d] - 1));
  };
  for (const auto& [step, box] : states.boxes()) compare(box);
  compare(last);
  return change;
}

/// The short run: what it found, and why it could not write all.
struct Replay {
  std::optional<Trouble> trouble;
  BoxChange change_of_box;
  std::int64_t checkpoint_step = 0, last_step = 0, frames = 0;
  bool has_checkpoint = false;
  std::string problem;
};

/// The simulation of the short run, which has not yet done a step.
class Rewound {
 public:
  /// Starts from the newest state that is old enough, or from the one before where that has trouble in it already.
  Rewound(const FailedRun& failed, const RunConfig& config, const comm::Communicator& comm, ThreadPool& threads)
      : temperature_(temperature_of(failed)) {
    for (const auto* state : failed.states.before_failure()) {
      simulation_.emplace(failed.system, config, failed.settings, comm, threads);
      Checkpoint checkpoint;
      checkpoint.origin = failed.states.origin();
      checkpoint.state = state->snapshot();
      simulation_->start(checkpoint);
      watch_.emplace(temperature_);
      watch_->start(*simulation_);
      if (!watch_->found()) break;
    }
    simulation_->attach(*watch_);
  }

  Simulation& simulation() { return *simulation_; }
  const std::optional<Trouble>& trouble() const { return watch_->found(); }

 private:
  static double temperature_of(const FailedRun& failed) {
    constexpr double least = 300;  // K: cold atoms may start from forces that warm ones have
    const auto& dynamics = failed.config.dynamics;
    return std::max(least, dynamics.temperature.at(static_cast<double>(failed.states.last_step()) * dynamics.timestep));
  }

  double temperature_;
  std::optional<Simulation> simulation_;
  std::optional<FirstTrouble> watch_;
};

/// Returns the steps of which there are frames: "steps 40 to 59".
std::string describe_steps(const Replay& found) {
  if (found.frames <= 1) return fmt::format("{} {}", found.frames == 1 ? "step" : "no step up to", found.last_step);
  return fmt::format("steps {} to {}", found.last_step + 1 - found.frames, found.last_step);
}

/// Does the steps from a good state to the last that was completed, and writes them where that is possible.
void replay(const FailedRun& failed, const RunConfig& config, const comm::Communicator& comm, ThreadPool& threads,
            Replay& result) {
  Rewound rewound(failed, config, comm, threads);
  auto& simulation = rewound.simulation();
  const auto start = simulation.current_step(), last = failed.states.last_step();
  result.checkpoint_step = start;
  result.last_step = last;

  std::optional<Recording> recording;
  // The failure that is sought ends the steps: what came before it has been seen and written.
  const auto attempt = [&](auto&& work) {
    try {
      work();
      return true;
    } catch (const md::integrate::BlowUp&) {
      return true;
    } catch (const RunError& error) {
      result.problem = error.what();
    } catch (const InputError& error) {
      result.problem = error.what();
    }
    return false;
  };
  const bool is_written = attempt([&] {
    comm::on_each_rank(comm, [&] { recording.emplace(config, simulation); });
    recording->begin();
    result.has_checkpoint = true;
    std::int64_t n_frames = 0;
    comm::on_root(comm, [&] { n_frames = frames_that_fit(config, failed.system); });
    comm.broadcast(std::as_writable_bytes(std::span(&n_frames, 1)), 0);
    simulation.step(std::max<std::int64_t>(0, last + 1 - n_frames - start));
    recording->begin_frames();
    simulation.step(last - simulation.current_step());
  });
  if (recording) attempt([&] { recording->finish(); });
  if (recording) {
    result.frames = recording->n_frames();
    result.last_step = recording->last_step().value_or(last);
  }
  recording.reset();
  if (!is_written) attempt([&] { simulation.step(last - simulation.current_step()); });
  result.trouble = rewound.trouble();
  result.change_of_box = change_of_box(failed.states, simulation.engine().global().box);
}

nlohmann::json to_json(const Trouble& trouble, const model::System& system) {
  nlohmann::json json = {{"step", trouble.step},
                         {"atom", trouble.atom},
                         {"name", system.describe(trouble.atom)},
                         {"speed_A_ps", trouble.speed},
                         {"force_kcal_mol_A", trouble.force},
                         {"term", trouble.strongest.term},
                         {"strongest_kcal_mol_A", trouble.strongest.force},
                         {"atoms_of_term", trouble.strongest.atoms}};
  const auto add = [&](const char* key, std::int64_t atom, double distance) {
    if (atom >= 0) json[key] = {{"atom", atom}, {"name", system.describe(atom)}, {"distance_A", distance}};
  };
  add("partner", trouble.strongest.partner, trouble.strongest.distance_to_partner);
  add("nearest", trouble.strongest.nearest, trouble.strongest.distance);
  return json;
}

}  // namespace

std::string write_black_box(const FailedRun& failed, const comm::Communicator& comm, ThreadPool& threads) {
  const auto config = config_of_black_box(failed.config);
  const auto& folder = config.output.folder;
  Replay found;
  try {
    replay(failed, config, comm, threads, found);
  } catch (const RunError& error) {
    found.problem = error.what();
  } catch (const InputError& error) {
    found.problem = error.what();
  }
  const bool is_first_state =
      found.trouble && found.trouble->step == failed.states.first_step() && failed.states.first_step() == 0;
  const Circumstances around{is_first_state, found.change_of_box, failed.is_box_too_small,
                             note_of_time_step(failed.settings, failed.system)};
  const auto cause = find_cause(found.trouble, around, failed.system);
  const bool is_of_atom = found.trouble && !failed.is_box_too_small;
  auto message = is_of_atom ? found.trouble->describe(failed.system) : failed.message;
  auto problem = found.problem;
  if (!comm.is_root()) return message;

  nlohmann::json json = {{"message", message},           {"noticed", failed.message},
                         {"last_step", found.last_step}, {"checkpoint_step", found.checkpoint_step},
                         {"frames", found.frames},       {"cause", cause.name},
                         {"advice", cause.advice}};
  if (found.trouble) json["first_trouble"] = to_json(*found.trouble, failed.system);
  try {
    write_atomically(folder + "/failure.json", json.dump(2) + "\n");
  } catch (const std::exception& error) {
    if (problem.empty()) problem = error.what();
  }
  const auto note = [](const std::string& text) { comm::print_note("tessera-md", text); };
  if (is_of_atom) note(fmt::format("it was noticed later: {}", failed.message));
  note(fmt::format("what to try: {}", cause.advice));
  if (!problem.empty()) note(fmt::format("the black box is not complete: {}", problem));
  if (found.has_checkpoint)
    note(fmt::format(
        "{} holds positions, velocities, forces and energies of {}, and the state of step {}, from which input.start = "
        "\"{}\" begins anew with other settings",
        folder, describe_steps(found), found.checkpoint_step, folder));
  return message;
}

}  // namespace tessera::app
