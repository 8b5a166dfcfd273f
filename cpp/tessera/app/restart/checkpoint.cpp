#include "tessera/app/restart/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "tessera/app/config/schema.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/restart/fingerprint.h"
#include "tessera/base/error.h"

namespace tessera::app {

namespace {

constexpr const char* system_key = "input.system";
constexpr const char* kind_key = "stage.kind";

nlohmann::json to_json(const Box& box) {
  const auto &a = box.a(), &b = box.b(), &c = box.c();
  return {a.x, b.x, b.y, c.x, c.y, c.z};  // Å
}

Box box_from(const nlohmann::json& json) {
  const auto v = json.get<std::array<double, 6>>();
  return Box({v[0], 0, 0}, {v[1], v[2], 0}, {v[3], v[4], v[5]});
}

/// Returns all of a state but its atoms. Doubles go there and back to the last bit.
nlohmann::json globals_to_json(const md::Snapshot& state) {
  nlohmann::json fields = nlohmann::json::array();
  for (const auto& field : state.fields) fields.push_back({{"name", field.name}, {"width", field.width}});
  return {{"step", state.step},
          {"last_search", state.last_search},
          {"box", to_json(state.box)},
          {"search_box", to_json(state.search_box)},
          {"velocity_time", static_cast<int>(state.velocity_time)},
          {"coupling", state.coupling},
          {"fields", fields}};
}

md::Snapshot globals_from(const nlohmann::json& json) {
  md::Snapshot state;
  state.step = json.at("step");
  state.last_search = json.at("last_search");
  state.box = box_from(json.at("box"));
  state.search_box = box_from(json.at("search_box"));
  state.velocity_time = static_cast<md::VelocityTime>(json.at("velocity_time").get<int>());
  state.coupling = json.at("coupling").get<decltype(state.coupling)>();
  for (const auto& field : json.at("fields")) state.fields.push_back({field.at("name"), field.at("width"), {}});
  return state;
}

/// Returns the keys that decide this, with their values in a configuration.
nlohmann::json settings_that_decide(Decides what, const RunConfig& config) {
  auto settings = nlohmann::json::object();
  for (const auto& section : run_schema().sections)
    for (std::size_t row = 0; row < section.n_rows(config); ++row)
      for (const auto& key : section.keys) {
        if (key.decides_with(config) != what || key.is_path || (key.has_effect && !key.has_effect(config))) continue;
        std::visit([&](const auto& value) { settings[section.name_of(row, key)] = value; }, key.load(config, row));
      }
  return settings;
}

}  // namespace

nlohmann::json bit_settings(const RunConfig& config, const md::EngineSettings& settings,
                            const nlohmann::json& fingerprint) {
  auto effective = in_effect(config, settings);
  effective.parallel.buffer = settings.buffer;  // as wide as the cells allow; in_effect() keeps what was asked for
  auto json = settings_that_decide(Decides::bits, effective);
  json[system_key] = fingerprint;
  json[kind_key] = names_of(config.kind)[static_cast<std::size_t>(config.kind)];
  const auto sums = config.selections.checksums();
  for (const auto& [key, text, decides_bits] : selections_of(config))
    if (const auto sum = sums.find(text); decides_bits && sum != sums.end())
      json[fmt::format("atoms of {}", json_text(text))] = sum->second;
  return json;
}

StageKind kind_of(const Checkpoint& checkpoint) {
  const auto& minimize = names_of(StageKind::minimize)[static_cast<std::size_t>(StageKind::minimize)];
  return checkpoint.settings.value(kind_key, "") == minimize ? StageKind::minimize : StageKind::dynamics;
}

nlohmann::json start_settings(const RunConfig& config) { return settings_that_decide(Decides::start, config); }

namespace {

/// Returns whether a key is that of a row, "section.0.key".
bool is_of_record(const std::string& key) {
  const auto dot = key.find('.');
  return dot != std::string::npos && dot + 1 < key.size() && std::isdigit(static_cast<unsigned char>(key[dot + 1]));
}

}  // namespace

std::string describe_differences(const nlohmann::json& checkpoint, const nlohmann::json& run) {
  std::string direct, derived;
  // A record of a repeated section that the run does not have any more.
  for (const auto& [key, value] : checkpoint.items())
    if (is_of_record(key) && !run.contains(key))
      direct += fmt::format("{}{} was {}, is missing", direct.empty() ? "" : "; ", key, value.dump());
  for (const auto& [key, value] : run.items()) {
    const auto before = checkpoint.value(key, nlohmann::json());
    if (before == value) continue;
    if (key == system_key) {
      direct += fmt::format("{}{} (its content: {}) has changed", direct.empty() ? "" : "; ", key,
                            fmt::join(changed_parts(before, value), ", "));
      continue;
    }
    // A key that the checkpoint lacks had no effect in its run.
    auto& text = (before.is_null() && !is_of_record(key)) || key == "pme.alpha" || key == "pme.grid" ? derived : direct;
    text += fmt::format("{}{} was {}, is {}", text.empty() ? "" : "; ", key, before.dump(), value.dump());
  }
  return direct.empty() ? derived : direct;  // α and mesh follow from the others
}

nlohmann::json to_json(const Checkpoint& checkpoint, std::int64_t n_atoms) {
  nlohmann::json origin;
  if (checkpoint.origin) origin = {{"box", to_json(checkpoint.origin->box)}, {"checksum", checkpoint.origin->checksum}};
  return {{"state", globals_to_json(checkpoint.state)},
          {"energy_rows", checkpoint.energy_rows},
          {"frames", checkpoint.frames},
          {"averages", checkpoint.averages},
          {"simd", checkpoint.simd},
          {"settings", checkpoint.settings},
          {"start", checkpoint.start},
          {"origin", origin},
          {"atoms", n_atoms}};
}

Checkpoint checkpoint_from(const nlohmann::json& json) {
  Checkpoint checkpoint;
  checkpoint.state = globals_from(json.at("state"));
  checkpoint.energy_rows = json.at("energy_rows");
  checkpoint.frames = json.at("frames").get<decltype(checkpoint.frames)>();
  checkpoint.averages = json.at("averages").get<Averages::State>();
  checkpoint.simd = json.at("simd");
  checkpoint.settings = json.at("settings");
  checkpoint.start = json.at("start");
  if (const auto& origin = json.at("origin"); !origin.is_null())
    checkpoint.origin = Origin{box_from(origin.at("box")), origin.at("checksum")};
  checkpoint.n_atoms = json.at("atoms");
  return checkpoint;
}

}  // namespace tessera::app
