#include "tessera/app/output/output_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "tessera/app/output/energy_columns.h"
#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/md/engine.h"

namespace tessera::app {

namespace {

/// Returns the columns of energy.csv.
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

void OutputFiles::write_settings(const std::string& text) {
  const auto path = [&](std::string_view name) { return fmt::format("{}/{}", config_.output.folder, name); };
  if (!config_.selections.empty()) settings_[path(selections_file)] = config_.selections.text();
  settings_[path("settings.toml")] = text;
  for (const auto& [name, content] : settings_) write_atomically(name, content);
  std::error_code ignored;
  if (!config_.selections.empty()) std::filesystem::remove(path(next_selections_file), ignored);
}

std::string OutputFiles::restore_settings() const {
  std::vector<std::string> restored;
  for (const auto& [path, content] : settings_) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) {  // a pipe in its place would never end
      std::ifstream file(path, std::ios::binary);
      if (std::string(std::istreambuf_iterator<char>(file), {}) == content) continue;
    }
    write_atomically(path, content);
    restored.push_back(path);
  }
  if (restored.empty()) return "";
  return fmt::format("{} {} removed or changed while the run wrote to its folder, and {} written again",
                     fmt::join(restored, " and "), restored.size() > 1 ? "were" : "was",
                     restored.size() > 1 ? "are" : "is");
}

void OutputFiles::begin(const std::string& settings) {
  folder_.move_earlier_run_away();
  write_settings(settings);
  energy_table_ = EnergyTable::create(path_of_table(), table_columns(system_.box));
  const auto first = std::exchange(first_, {});
  add_row(first.step, first.values);
}

std::string OutputFiles::open_table(std::int64_t step, std::int64_t rows) {
  const auto path = path_of_table();
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    energy_table_ = EnergyTable::continue_after(path, table_columns(system_.box), step, rows);
    return "";
  }
  energy_table_ = EnergyTable::create(path, table_columns(system_.box));
  return rows > 0 ? fmt::format("{} is gone and begins anew after step {}", path, step) : "";
}

void OutputFiles::go_on(const std::string& settings) {
  energy_table_->drop_later_rows();
  write_settings(settings);
}

void OutputFiles::add_row(std::int64_t step, const std::vector<double>& row) {
  if (energy_table_)
    energy_table_->append(step, time_of(step), row);
  else
    first_ = {step, row};
}

void OutputFiles::check_in_place(std::int64_t step_of_checkpoint) const {
  if (!energy_table_->is_in_place()) throw RunError(text_of_lost_file(path_of_table(), step_of_checkpoint));
}

}  // namespace tessera::app
