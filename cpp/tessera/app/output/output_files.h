// What the root writes as a run goes: energy.csv, settings.toml and selections.json in its folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/output/energy_table.h"
#include "tessera/app/output/folder.h"

namespace tessera::app {

/// Only the root rank has one. Nothing in the folder changes until a new run begins its files or a restart goes on with
/// those that are there: until then the first row is kept in memory. References must outlive it.
class OutputFiles {
 public:
  /// Locks the folder, as OutputFolder does. Throws InputError, RunError.
  OutputFiles(const RunConfig& config, const model::System& system, bool is_restart);

  /// Begins the files when step 1 of a new run is done: moves away what an earlier run left and writes the first row;
  /// `settings` is the content of settings.toml. Throws RunError.
  void begin(const std::string& settings);
  /// Opens the table of a run that goes on from a step whose checkpoint counts this many rows, and changes nothing yet.
  /// Returns a note where it is missing and begins anew. Throws InputError where it holds less.
  std::string open_table(std::int64_t step, std::int64_t rows);
  /// Drops the rows behind the checkpoint and writes the settings.
  void go_on(const std::string& settings);

  void add_row(std::int64_t step, const std::vector<double>& row);
  std::int64_t n_rows() const { return energy_table_->n_rows(); }
  /// Throws RunError where a file was removed or replaced by others, so that what is written would be lost.
  void check_in_place(std::int64_t step_of_checkpoint) const;
  /// Writes settings.toml and selections.json again where they were removed or changed since the run began, because a
  /// trajectory can't be read without them. Returns a note of it.
  std::string restore_settings() const;

 private:
  std::string path_of_table() const { return config_.output.folder + "/energy.csv"; }
  double time_of(std::int64_t step) const { return static_cast<double>(step) * config_.dynamics.timestep; }
  void write_settings(const std::string& text);

  /// The first row, held until the run has begun.
  struct FirstRow {
    std::int64_t step = 0;
    std::vector<double> values;
  };

  const RunConfig& config_;
  const model::System& system_;
  OutputFolder folder_;
  FirstRow first_;
  std::map<std::string, std::string> settings_;  // content by path
  std::optional<EnergyTable> energy_table_;
};

}  // namespace tessera::app
