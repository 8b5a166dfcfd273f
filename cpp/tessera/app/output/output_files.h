// What a run writes as it goes: energy.csv, the trajectory, settings.toml and selections.json in its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/output/energy_table.h"
#include "tessera/app/output/folder.h"
#include "tessera/app/output/trajectory.h"

namespace tessera::app {

/// Only the root rank has one. Nothing in the folder changes until a new run begins its files or a restart goes on with
/// those that are there: until then the first row and frame are kept in memory. References must outlive it.
class OutputFiles {
 public:
  /// Locks the folder, as OutputFolder does. Throws InputError, RunError.
  OutputFiles(const RunConfig& config, const model::System& system, bool is_restart);

  /// Called when step 1 of a new run is done: moves away what an earlier run left and writes the first row and frame;
  /// `settings` is the content of settings.toml. Throws RunError.
  void begin(const std::string& settings);
  /// Continues at a step whose checkpoint counts this many rows and frames. Returns a note about files that are
  /// missing, which begin anew. Throws InputError where a file holds less, before any file is changed.
  std::string go_on(std::int64_t step, std::int64_t rows, std::int64_t frames, const std::string& settings);

  void add_row(std::int64_t step, const std::vector<double>& row);
  void add_frame(std::int64_t step, md::Snapshot state);
  std::int64_t n_rows() const { return energy_table_->n_rows(); }
  std::int64_t n_frames() const { return trajectory_->n_frames(); }
  /// Throws RunError where a file was removed or replaced by others, so that what is written would be lost.
  void check_in_place(std::int64_t step_of_checkpoint) const;

 private:
  std::string path_of_table() const { return config_.output.folder + "/energy.csv"; }
  double time_of(std::int64_t step) const { return static_cast<double>(step) * config_.dynamics.timestep; }
  void write_settings(const std::string& text) const;

  /// What the folder gets first, held until the run has begun.
  struct FirstSample {
    std::int64_t step = 0;
    std::vector<double> row;
    md::Snapshot state;
  };

  const RunConfig& config_;
  const model::System& system_;
  OutputFolder folder_;
  FirstSample start_;
  std::optional<EnergyTable> energy_table_;
  std::optional<Trajectory> trajectory_;
};

}  // namespace tessera::app
