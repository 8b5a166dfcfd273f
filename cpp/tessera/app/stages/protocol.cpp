#include "tessera/app/stages/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "tessera/app/config/apply.h"
#include "tessera/app/config/removed_keys.h"
#include "tessera/app/output/folder.h"

namespace tessera::app {

namespace {

constexpr std::string_view prefix = "stage.";  // of overrides

/// Tells what is wrong with the name of a folder; empty where nothing is.
std::string find_fault(const std::string& name) {
  const auto is_good = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; };
  constexpr std::size_t most = 60;
  if (name.empty() || name.size() > most || !std::all_of(name.begin(), name.end(), is_good) || name.front() == '-')
    return fmt::format("expected 1 to {} letters, digits, - and _, as it is the name of a folder", most);
  if (name.starts_with("previous-")) return "expected another name: earlier runs are moved into folders of such names";
  if (name == black_box_folder) return "expected another name: a run that blows up leaves a folder of this name";
  return "";
}

void check_names(const toml::array& rows, const std::vector<StageConfig>& stages, const std::string& file,
                 Errors& errors) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto* node = rows.get(i)->as_table()->get("name");
    if (!node || !node->is_string()) continue;  // told already
    const auto& name = stages[i].name;
    const auto place = fmt::format("{}:{}", file, node->source().begin.line);
    if (const auto fault = find_fault(name); !fault.empty())
      errors.add(place, fmt::format("stage.name = \"{}\", {}", name, fault));
    else if (!names.insert(name).second)
      errors.add(place, fmt::format("stage.name = \"{}\" for the second time, expected another name for each", name));
  }
}

/// Refuses an input or a folder of a stage, which starts from the one above, with the same system, and has a folder of
/// its own.
void refuse_input_and_folder(const toml::table& row, const std::string& file, Errors& errors) {
  if (const auto* input = row.get("input"))
    errors.add(fmt::format("{}:{}", file, input->source().begin.line),
               "[stage.input] is set; every stage has the system outside of stages and starts from the stage above");
  if (const auto* output = row.get_as<toml::table>("output"))
    if (const auto* folder = output->get("folder"))
      errors.add(fmt::format("{}:{}", file, folder->source().begin.line),
                 "output.folder is set; a stage writes into a folder of its name in the output.folder outside of "
                 "stages");
}

bool sets(const toml::table& row, const char* section, const char* key) {
  const auto* keys = row.get_as<toml::table>(section);
  return keys && keys->contains(key);
}

/// Overrides by what they hold for.
struct Overrides {
  std::vector<std::string> all;
  std::vector<std::pair<std::string, std::string>> of_stage;  // name, the rest

  explicit Overrides(const std::vector<std::string>& overrides) {
    for (const auto& text : overrides) {
      const auto dot = text.find('.', prefix.size());
      if (text.starts_with(prefix) && dot < text.find('='))
        of_stage.emplace_back(text.substr(prefix.size(), dot - prefix.size()), text.substr(dot + 1));
      else
        all.push_back(text);
    }
  }
  bool set_for(const std::string& stage, std::string_view key) const {
    return std::any_of(of_stage.begin(), of_stage.end(),
                       [&](const auto& one) { return one.first == stage && one.second.starts_with(key); });
  }
};

/// The configuration of a stage and what counts from one to the next.
class Layers {
 public:
  Layers(Protocol& protocol, const Overrides& overrides, std::string file, std::string folder)
      : protocol_(protocol),
        overrides_(overrides),
        file_(std::move(file)),
        folder_(std::move(folder)),
        layered_(protocol.config) {}

  void add(const StageConfig& own, const toml::table& row, Errors& errors) {
    const auto& schema = run_schema();
    const auto& above = protocol_.stages;
    if (!above.empty()) layered_.dynamics.velocities = Velocities::automatic;
    errors.set_context(own.name.empty() ? fmt::format("stage number {}: ", above.size() + 1)
                                        : fmt::format("stage {}: ", own.name));
    refuse_input_and_folder(row, file_, errors);
    apply_table(layered_, schema, row, file_, folder_, errors, schema.find("stage"));
    bool sets_seed = sets(row, "dynamics", "seed");
    Errors told;  // for the configuration outside of stages
    for (const auto& text : overrides_.all) {
      if (!text.starts_with("dynamics.velocities") || above.empty()) apply_override(layered_, schema, text, told);
      if (text.starts_with("dynamics.seed")) sets_seed = false;
    }
    for (const auto& [stage, text] : overrides_.of_stage)
      if (stage == own.name) apply_override(layered_, schema, text, errors);
    sets_seed |= overrides_.set_for(own.name, "dynamics.seed");
    layered_.input = protocol_.config.input;
    layered_.output.folder = protocol_.config.output.folder;
    if (sets_seed) seed_set_at_ = above.size();

    Stage stage{own.name, layered_};
    stage.config.kind = own.kind;
    stage.config.dynamics.seed += static_cast<std::int64_t>(above.size() - seed_set_at_);
    if (!above.empty()) stage.config.input.start = above.back().config.output.folder;
    stage.config.output.folder = (std::filesystem::path(layered_.output.folder) / own.name).string();
    if (own.kind == StageKind::dynamics && stage.config.dynamics.steps < 1)
      errors.add(file_,
                 fmt::format("dynamics.steps = {}, expected at least 1 in a stage", stage.config.dynamics.steps));
    protocol_.stages.push_back(std::move(stage));
    errors.set_context("");
  }

 private:
  Protocol& protocol_;
  const Overrides& overrides_;
  std::string file_, folder_;
  RunConfig layered_;
  std::size_t seed_set_at_ = 0;  // number of a stage
};

}  // namespace

Protocol parse_protocol(std::string_view text, const std::string& name, const std::string& folder,
                        const std::vector<std::string>& overrides) {
  Protocol protocol;
  protocol.config = default_config(folder);
  auto& config = protocol.config;
  const auto table = parse_toml(text, name);
  Errors errors;
  apply_table(config, run_schema(), table, name, folder, errors);
  const auto own = std::exchange(config.stages, {});
  const auto sorted = own.empty() ? Overrides({}) : Overrides(overrides);
  for (const auto& one : own.empty() ? overrides : sorted.all) apply_override(config, run_schema(), one, errors);
  if (const auto* rows = table.get_as<toml::array>("stage"); rows && rows->size() == own.size()) {
    check_names(*rows, own, name, errors);
    Layers layers(protocol, sorted, name, folder);
    for (std::size_t i = 0; i < own.size(); ++i) layers.add(own[i], *rows->get(i)->as_table(), errors);
    for (const auto& [stage, rest] : sorted.of_stage)
      if (std::none_of(own.begin(), own.end(), [&](const auto& one) { return one.name == stage; }))
        errors.add(fmt::format("--set stage.{}.{}", stage, rest),
                   fmt::format("there is no stage {} in {}", stage, name));
  }
  errors.raise(name);
  // Only values that are right by themselves are held against each other.
  check_together(config, name, errors);
  for (const auto& stage : protocol.stages) {
    errors.set_context(fmt::format("stage {}: ", stage.name));
    if (!config.input.system.empty()) check_together(stage.config, name, errors);
  }
  errors.raise(name);
  return protocol;
}

Protocol read_protocol(const std::string& path, const std::vector<std::string>& overrides) {
  return parse_protocol(text_of_run_file(path), path, std::filesystem::path(path).parent_path().string(), overrides);
}

std::set<std::string> notes_of_removed(const Protocol& protocol) {
  auto notes = notes_of_removed(protocol.config);
  for (const auto& stage : protocol.stages) notes.merge(notes_of_removed(stage.config));
  return notes;
}

std::vector<std::string> list_differences(const RunConfig& stage, const RunConfig& above) {
  std::vector<std::string> differences;
  for (const auto& section : run_schema().sections) {
    if (section.name == "input") continue;
    const auto n = section.n_rows(stage);
    if (n != section.n_rows(above)) {
      differences.push_back(fmt::format("{} × {}", n, section.header()));
      continue;
    }
    for (std::size_t row = 0; row < n; ++row)
      for (const auto& key : section.keys) {
        const auto value = key.load(stage, row);
        if (key.full_name() == "output.folder" || value == key.load(above, row)) continue;
        differences.push_back(fmt::format(
            "{} = {}", section.is_repeated() ? fmt::format("{}.{}.{}", section.name, row, key.name) : key.full_name(),
            toml_text(value)));
      }
  }
  return differences;
}

}  // namespace tessera::app
