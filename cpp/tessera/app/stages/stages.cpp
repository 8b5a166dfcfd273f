#include "tessera/app/stages/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/app/engine_settings.h"
#include "tessera/app/numbers_text.h"
#include "tessera/app/output/folder.h"
#include "tessera/app/restart/checkpoint_file.h"
#include "tessera/app/start/resume.h"
#include "tessera/app/start/start.h"
#include "tessera/app/system/system_file.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/base/error.h"
#include "tessera/comm/job.h"
#include "tessera/md/domain/decomposition.h"

namespace tessera::app {

namespace {

template <class Function>
void with_name(const Stage& stage, Function&& function) {
  try {
    function();
  } catch (const InputError& error) {
    throw InputError(fmt::format("stage {}: {}", stage.name, error.what()));
  }
}

/// Throws InputError where a stage that is done, and so is not run again, was run with other settings.
void check_done(const Stage& stage, const Checkpoint& checkpoint) {
  auto system = read_run_system(stage.config.input.system, stage.config);
  if (checkpoint.origin) system.box = checkpoint.origin->box;
  auto settings = plan_settings(stage.config, system);
  const auto differences = compare_settings(checkpoint, stage.config, system, settings);
  if (!differences.empty())
    throw InputError(
        fmt::format("it is done, with other settings: {}; a stage that is done is not run again: put them "
                    "back, or begin anew in another output.folder",
                    differences));
}

std::optional<nlohmann::json> read_report(const Stage& stage) {
  const auto path = stage.config.output.folder + "/report.json";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path);
  auto json = nlohmann::json::parse(file, nullptr, false);
  return json.is_object() ? std::optional(std::move(json)) : std::nullopt;
}

/// Returns the ns/day of all legs together.
double speed_of(const nlohmann::json& report, double timestep) {
  double steps = 0, seconds = 0;
  for (const auto& leg : report.at("legs")) {
    steps += leg.at("last_step").get<double>() - leg.at("first_step").get<double>();
    seconds += leg.at("wall_seconds").get<double>();
  }
  return ns_per_day(steps * timestep, seconds);
}

}  // namespace

std::array<std::int64_t, 2> find_place(const std::vector<Stage>& stages) {
  std::string end_above;  // checksum of the last checkpoint of the stage above
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto& config = stages[i].config;
    const auto number = static_cast<std::int64_t>(i);
    const auto found = find_checkpoint_header(config.output.folder);
    if (!found) return {number, 0};
    if (i > 0 && (!found->origin || found->origin->checksum != end_above)) {
      comm::print_note("tessera-md",
                       fmt::format("{} holds a run that did not start from the end of stage {}: its files "
                                   "are moved into previous-1 there",
                                   config.output.folder, stages[i - 1].name));
      return {number, 0};
    }
    // A minimisation writes its checkpoint at its end.
    const bool is_of_dynamics = config.kind == StageKind::dynamics && kind_of(*found) == StageKind::dynamics;
    if (is_of_dynamics && found->state.step < config.dynamics.steps) {
      if (i + 1 < stages.size()) {
        const auto next = find_checkpoint_header(stages[i + 1].config.output.folder);
        if (next && next->origin && next->origin->checksum == found->checksum)
          throw InputError(fmt::format(
              "stage {}: its last step is {}, dynamics.steps is {}, and stage {} has started from its end: put "
              "dynamics.steps back, or begin anew in another output.folder",
              stages[i].name, found->state.step, config.dynamics.steps, stages[i + 1].name));
      }
      return {number, 1};
    }
    with_name(stages[i], [&] { check_done(stages[i], *found); });
    end_above = found->checksum;
  }
  return {static_cast<std::int64_t>(stages.size()), 0};
}

void check_folders(const std::vector<Stage>& stages) {
  for (const auto& stage : stages)
    if (!stage.config.output.overwrite) refuse_earlier_run(stage.config.output.folder);
}

void check_stages(const std::vector<Stage>& stages, std::size_t first, bool is_restart, int ranks) {
  std::optional<Box> box;  // of the last stage that has begun; those after it begin with about this one
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto& config = stages[i].config;
    if (i < first) {
      if (const auto done = find_checkpoint_header(config.output.folder)) box = done->state.box;
      continue;
    }
    with_name(stages[i], [&] {
      auto system = read_run_system(config.input.system, config);
      if (i == first && is_restart) take_box_of_restart(system, config.output.folder);
      if (i == 0 && !is_restart) take_box_of_start(system, config);
      if (box) system.box = *box;
      box = system.box;
      const auto settings = plan_settings(config, system);
      check_trajectories(config, system);
      (void)md::domain::plan_decomposition(md::plan_cells(md::summary_of(system), settings, system.box).grid, ranks);
    });
  }
}

namespace {

/// Describes the rest of the row of a minimisation, from its report.
std::string describe_minimization(const nlohmann::json& report) {
  const auto& found = report.at("minimization");
  return fmt::format("{:>12}   energy {:.1f} kcal/mol, greatest force {:.4g} kcal/mol/Å{}\n",
                     grouped(found.at("steps").get<std::int64_t>()), found.at("energy").get<double>(),
                     found.at("max_force").get<double>(), found.at("converged").get<bool>() ? "" : "  not converged");
}

}  // namespace

std::string table_of_stages(const std::vector<Stage>& stages) {
  std::size_t width = 5;
  for (const auto& stage : stages) width = std::max(width, stage.name.size());
  std::string text = fmt::format("{:<{}} {:>12} {:>12} {:>10} {:>15} {:>16}\n", "stage", width, "steps", "length",
                                 "ns/day", "temperature", "density");
  for (const auto& stage : stages) {
    const auto& dynamics = stage.config.dynamics;
    const auto checkpoint = find_checkpoint_header(stage.config.output.folder);
    if (!checkpoint) {
      text += fmt::format("{:<{}} {:>12}\n", stage.name, width, "not begun");
      continue;
    }
    if (stage.config.kind == StageKind::minimize) {
      text += fmt::format("{:<{}} ", stage.name, width);
      try {
        const auto report = read_report(stage);
        text += report ? describe_minimization(*report) : "\n";
      } catch (const nlohmann::json::exception&) {
        text += "\n";
      }
      continue;
    }
    const auto step = checkpoint->state.step;
    text += fmt::format("{:<{}} {:>12} {:>9.6g} ps", stage.name, width, grouped(step),
                        static_cast<double>(step) * dynamics.timestep);
    try {
      if (const auto report = read_report(stage)) {
        text += fmt::format(" {:>10.4g}", speed_of(*report, dynamics.timestep));
        const auto& averages = report->at("averages");
        const auto mean = [&](const char* name, const char* unit, int digits) {
          const auto found = averages.find(name);
          return found == averages.end() || !found->at("mean").is_number()
                     ? std::string()
                     : fmt::format("{:.{}f} {}", found->at("mean").get<double>(), digits, unit);
        };
        text += fmt::format(" {:>15} {:>16}", mean("temperature", "K", 1), mean("density", "g/cm³", 4));
      }
    } catch (const nlohmann::json::exception&) {
      // The report is of another version, or was changed.
    }
    while (text.ends_with(' ')) text.pop_back();
    text += step < dynamics.steps ? fmt::format("  stopped, of {}\n", grouped(dynamics.steps)) : "\n";
  }
  return text;
}

}  // namespace tessera::app
