#include "tessera/app/output/output_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "tessera/app/output/energy_columns.h"
#include "tessera/base/atomic_file.h"
#include "tessera/base/error.h"
#include "tessera/md/engine.h"

namespace tessera::app {

namespace {

/// Of energy.csv.
std::vector<Column> table_columns(const Box& start) {
  auto columns = energy_columns(start);
  columns.push_back({"drift", "kT/ns/dof"});
  return columns;
}

OutputFolder::Start kind_of_start(const OutputConfig& output, bool is_restart) {
  using Start = OutputFolder::Start;
  return is_restart ? Start::restart : output.overwrite ? Start::overwrite : Start::new_run;
}

}  // namespace

OutputFiles::OutputFiles(const RunConfig& config, const model::System& system, bool is_restart)
    : config_(config), system_(system), folder_(config.output.folder, kind_of_start(config.output, is_restart)) {}

void OutputFiles::write_settings(const std::string& text) const {
  const auto path = [&](std::string_view name) { return fmt::format("{}/{}", config_.output.folder, name); };
  if (!config_.selections.empty()) {
    write_atomically(path(selections_file), config_.selections.text());
    std::error_code ignored;
    std::filesystem::remove(path(next_selections_file), ignored);
  }
  write_atomically(path("settings.toml"), text);
}

void OutputFiles::begin(const std::string& settings) {
  folder_.move_earlier_run_away();
  write_settings(settings);
  energy_table_ = EnergyTable::create(path_of_table(), table_columns(system_.box));
  trajectory_.emplace(config_, system_, start_.step, std::nullopt);
  const auto start = std::exchange(start_, {});
  add_row(start.step, start.row);
  add_frame(start.step, start.state);
}

std::string OutputFiles::go_on(std::int64_t step, std::int64_t rows, std::int64_t frames, const std::string& settings) {
  std::string gone;
  const auto is_gone = [&](const std::string& path, std::int64_t expected) {
    std::error_code ignored;
    if (path.empty() || std::filesystem::exists(path, ignored)) return false;
    if (expected > 0)
      gone += fmt::format("{}{} is gone and begins anew after step {}", gone.empty() ? "" : "; ", path, step);
    return true;
  };
  energy_table_ = is_gone(path_of_table(), rows)
                      ? EnergyTable::create(path_of_table(), table_columns(system_.box))
                      : EnergyTable::continue_after(path_of_table(), table_columns(system_.box), step, rows);
  is_gone(Trajectory::path(config_.output), frames);
  trajectory_.emplace(config_, system_, step, frames);
  energy_table_->drop_later_rows();
  write_settings(settings);
  return gone;
}

void OutputFiles::add_row(std::int64_t step, const std::vector<double>& row) {
  if (energy_table_)
    energy_table_->append(step, time_of(step), row);
  else
    start_.step = step, start_.row = row;
}

void OutputFiles::add_frame(std::int64_t step, md::Snapshot state) {
  if (trajectory_)
    trajectory_->append(step, time_of(step), state);
  else
    start_.step = step, start_.state = std::move(state);
}

void OutputFiles::check_in_place(std::int64_t step_of_checkpoint) const {
  const auto check = [&](const std::string& path, bool is_in_place) {
    if (!is_in_place)
      throw RunError(fmt::format(
          "{} was removed or replaced while the run wrote to it, so what it held is lost; the checkpoint of "
          "step {} is whole: put the file back and go on with --restart",
          path, step_of_checkpoint));
  };
  check(path_of_table(), energy_table_->is_in_place());
  check(Trajectory::path(config_.output), trajectory_->is_in_place());
}

}  // namespace tessera::app
