// A system under way: an engine, the loop that advances it, and the observers of that loop. tessera-md and Python hold
// the same object.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/observers/observer.h"
#include "tessera/app/restart/checkpoint.h"
#include "tessera/app/restart/checkpoint_writer.h"
#include "tessera/app/system/system_file.h"
#include "tessera/device/device.h"
#include "tessera/md/engine.h"
#include "tessera/md/minimize/minimize.h"

namespace tessera::app {

/// All members are collective, but those that are const and return what this rank has. References must outlive it.
class Simulation {
 public:
  /// Checks settings against the system (InputError), and opens the GPU of parallel.device (RunError), of which the
  /// kernels are in a folder.
  Simulation(const model::System& system, const RunConfig& config, const md::EngineSettings& settings,
             const comm::Communicator& comm, ThreadPool& threads,
             const std::filesystem::path& kernels = device::folder_of_program());

  /// Begins at step 0 with these rows of coordinates (read_start), and velocities as dynamics.velocities says. Throws
  /// InputError.
  void start(CoordinateBlock block, std::optional<Origin> origin = {});
  /// Takes these rows of coordinates without velocities, and constrained distances as they are: for minimize(), which
  /// puts them right from anywhere. Throws InputError.
  void start_to_minimize(CoordinateBlock block, std::optional<Origin> origin = {});
  /// Continues from a checkpoint, of which it takes the state with whole hydrogen groups on each rank.
  void start(Checkpoint& checkpoint);

  /// Sets positions or velocities of atoms: each on any one rank, whole hydrogen groups together. Constrained distances
  /// are corrected. Throws InputError.
  void place(md::Snapshot state);

  /// Changes the box, and the atoms with it (md::integrate::Motion::set_box). Throws InputError.
  void set_box(const Box& box);
  /// Goes on with other settings of its baths (Engine::set_baths), which `config` has, too.
  void set_baths(const RunConfig& config, const md::integrate::BathSettings& baths);
  /// Takes the place of all external forces. They belong to no checkpoint.
  void set_external_forces(md::external::ExternalForces forces);

  /// Minimises the potential energy; no step passes (md/minimize/minimize.h). Throws InputError, RunError.
  md::minimize::Result minimize(const md::minimize::Settings& settings, const md::minimize::Watch& watch = {});

  /// Tells the observer of every step from now on, after those that came before it.
  void attach(Observer& observer) { observers_.push_back(&observer); }
  void detach(const Observer& observer);
  /// Advances so many steps; the energies of the last are those of energies() unless they are not wanted. Throws
  /// md::integrate::BlowUp, and RunError where an observer fails.
  void step(std::int64_t n, bool with_energies = true) { advance(current_step() + n, with_energies); }
  /// Starts the observers, advances to dynamics.steps and finishes the observers.
  void run();
  /// Ends step() or run() after the step under way: to be called by an observer, on all ranks.
  void stop() { is_stopped_ = true; }
  bool is_stopped() const { return is_stopped_; }

  std::int64_t current_step() const { return engine_->current_step(); }
  std::int64_t first_step() const { return first_step_; }  // of run()
  std::int64_t last_step() const { return config_.dynamics.steps; }
  double time() const { return static_cast<double>(current_step()) * config_.dynamics.timestep; }  // ps
  double seconds() const { return seconds_; }  // that the steps of run() took
  const std::optional<Origin>& origin() const { return origin_; }
  const md::Energies& energies() const { return engine_->energies(); }  // of the last step that summed them
  const md::Engine& engine() const { return *engine_; }
  const model::System& system() const { return system_; }
  const RunConfig& config() const { return config_; }
  const md::EngineSettings& settings() const { return settings_; }
  /// Returns the GPU that pairs are summed on, if any.
  const device::Device* device() const { return device_ ? &device_->device() : nullptr; }
  /// Returns why this rank's GPU is not used any more; empty where nothing has failed.
  std::string device_error() const { return device_ ? device_->error() : std::string(); }
  const comm::Communicator& comm() const { return comm_; }
  const ThreadPool& threads() const { return threads_; }
  /// Finds the strongest force on an atom, among those of all ranks.
  md::StrongestForce find_strongest_force(std::int64_t atom);
  md::Timers& timers() { return engine_->timers(); }

  /// Returns the SHA-256 of positions and velocities by atom id, and of the box where it is not that of the system any
  /// more. The same on any ranks.
  std::string state_hash() const;
  /// Writes a checkpoint into a folder. Throws RunError.
  void save(const std::string& folder);
  /// Writes the same; how far output files and averages are stands in `checkpoint` already.
  void save(CheckpointWriter& writer, Checkpoint checkpoint);
  /// Estimates how many bytes a checkpoint has, not less.
  std::int64_t checkpoint_bytes();
  /// Moves cells to other ranks: a restart in memory, which changes no bit.
  void move_cells(md::domain::Decomposition decomposition);

 private:
  void open_device(const std::filesystem::path& kernels);
  void tell_device_error();
  void step_engine(bool with_energies);
  void advance(std::int64_t last_step, bool with_energies);
  /// Adds all but the atoms to a checkpoint. On the root alone.
  void complete(Checkpoint& checkpoint);

  const model::System& system_;
  RunConfig config_;
  md::EngineSettings settings_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  std::optional<device::DeviceInUse> device_;
  bool has_told_device_error_ = false;
  std::optional<md::Engine> engine_;
  std::vector<Observer*> observers_;
  bool is_stopped_ = false;
  std::int64_t first_step_ = 0;
  double seconds_ = 0;
  std::optional<Origin> origin_;
  std::optional<CheckpointWriter> saving_;  // of the folder that save() had last
  nlohmann::json fingerprint_;              // of the system; on the root, once one is saved
};

}  // namespace tessera::app
