#include "tessera/app/config/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tessera/base/error.h"

namespace tessera::app {
namespace {

std::string expected_number(const Key& key, const char* kind) {
  std::string text = kind;
  const std::string bounds = key.bounds.describe();
  if (!bounds.empty()) text += " " + bounds;
  if (!key.unit.empty()) text += " (" + key.unit + ")";
  return text;
}

std::string describe_type(const Key& key) {
  switch (key.type) {
    case ValueType::boolean:
      return "true or false";
    case ValueType::integer:
      if (!key.integers.empty()) return fmt::format("one of {}", fmt::join(key.integers, ", "));
      return expected_number(key, "an integer");
    case ValueType::real:
      return expected_number(key, "a number");
    case ValueType::text:
      return key.allowed.empty() ? "text in quotes" : fmt::format("one of \"{}\"", fmt::join(key.allowed, "\", \""));
    case ValueType::integers:
      return expected_number(key, "[] or three integers in brackets, each");
    case ValueType::texts:
      return "texts in quotes, in brackets";
    case ValueType::schedule:
      return expected_number(key, "a number") + ", or points [time in ps, number] in brackets, times from 0 and rising";
  }
  return "";
}

/// Returns all that a choice takes; empty where the key is no choice.
std::vector<std::string> names_of_choice(const Key& key) {
  auto names = key.allowed;
  if (key.may_be_auto && !names.empty()) names.insert(names.begin(), "auto");
  return names;
}

const char* type_word(ValueType type) {
  switch (type) {
    case ValueType::boolean:
      return "boolean";
    case ValueType::integer:
      return "integer";
    case ValueType::real:
      return "real";
    case ValueType::text:
      return "text";
    case ValueType::integers:
      return "integers";
    case ValueType::texts:
      return "texts";
    case ValueType::schedule:
      return "schedule";
  }
  return "";
}

}  // namespace

bool Bounds::has_maximum() const { return maximum < any_count; }

std::string Bounds::describe() const {
  std::string text;
  if (has_minimum()) text = fmt::format("{} {}", is_open_below ? "more than" : "at least", minimum);
  if (has_maximum()) text += fmt::format("{}at most {}", text.empty() ? "" : " and ", maximum);
  return text;
}

const Key* Section::find(std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& one) { return one.name == key; });
  return found == keys.end() ? nullptr : &*found;
}

const Section* Schema::find(std::string_view section) const {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const Section& one) { return one.name == section; });
  return found == sections.end() ? nullptr : &*found;
}

const Key& Schema::key(std::string_view full_name) const {
  const auto dot = full_name.find('.');
  const auto* section = find(full_name.substr(0, dot));
  const auto* found = section ? section->find(full_name.substr(dot + 1)) : nullptr;
  TESSERA_CHECK(found);
  return *found;
}

std::string json_text(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

/// Returns the fewest digits that bring the value back.
std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string toml_text(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
        if constexpr (std::is_same_v<T, std::int64_t>) return fmt::format("{}", v);
        if constexpr (std::is_same_v<T, double>) return real_text(v);
        if constexpr (std::is_same_v<T, std::string>) return json_text(v);
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return fmt::format("[{}]", fmt::join(v, ", "));
        if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          std::vector<std::string> texts;
          for (const auto& text : v) texts.push_back(json_text(text));
          return fmt::format("[{}]", fmt::join(texts, ", "));
        }
        if constexpr (std::is_same_v<T, std::vector<TimeSchedule::Point>>) {
          std::vector<std::string> points;
          for (const auto& [time, number] : v)
            points.push_back(fmt::format("[{}, {}]", real_text(time), real_text(number)));
          return fmt::format("[{}]", fmt::join(points, ", "));
        }
      },
      value);
}

std::vector<NamedSelection> selections_of(const RunConfig& config, const Schema& schema) {
  std::vector<NamedSelection> found;
  for (const auto& section : schema.sections)
    for (std::size_t row = 0; row < section.n_rows(config); ++row)
      for (const auto& key : section.keys) {
        if (!key.selects_atoms) continue;
        const auto name = section.name_of(row, key);
        const auto value = key.load(config, row);
        const bool bits = key.decides_with(config) == Decides::bits;
        if (const auto* text = std::get_if<std::string>(&value); text && !text->empty())
          found.push_back({name, *text, bits});
        if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
          for (const auto& text : *texts) found.push_back({name, text, bits});
      }
  return found;
}

bool is_auto(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text && *text == "auto";
}

std::string describe_expected(const Key& key) { return describe_type(key) + (key.may_be_auto ? " or \"auto\"" : ""); }

std::string print_defaults(const Schema& schema) {
  std::string text =
      "# A run file of Tessera with every key at its default. Paths are relative to this file.\n"
      "# Units: Å, fs, K. Run it with `tessera run run.toml -n RANKS`.\n";
  for (const auto& section : schema.sections) {
    // There is none of a repeated section unless somebody writes one.
    const std::string_view mark = section.is_repeated() ? "# " : "";
    text += fmt::format("\n{}{}  # {}{}\n", mark, section.header(), section.documentation,
                        section.is_repeated() ? " Any number of times." : "");
    for (const auto& key : section.keys) {
      const std::string line =
          fmt::format("{}{} = {}", mark, key.name, key.must_be_given() ? key.example : toml_text(key.default_value));
      std::string comment = key.documentation;
      if (!key.unit.empty()) comment += fmt::format(", {}", key.unit);
      const auto names = names_of_choice(key);
      if (names.size() > 1) comment += fmt::format(" ({})", fmt::join(names, ", "));
      if (!key.integers.empty()) comment += fmt::format(" ({})", fmt::join(key.integers, ", "));
      text += fmt::format("{:<28}  # {}\n", line, comment);
    }
  }
  return text;
}

nlohmann::json schema_to_json(const Schema& schema) {
  nlohmann::json sections = nlohmann::json::array();
  for (const auto& section : schema.sections) {
    nlohmann::json keys = nlohmann::json::array();
    for (const auto& key : section.keys) {
      nlohmann::json entry = {{"name", key.name},
                              {"type", type_word(key.type)},
                              {"unit", key.unit},
                              {"expected", describe_expected(key)},
                              {"decides", decides_names[static_cast<std::size_t>(key.decides)]},
                              {"documentation", key.documentation}};
      if (key.selects_atoms) entry["selects_atoms"] = true;
      std::visit([&](const auto& value) { entry["default"] = value; }, key.default_value);
      if (key.must_be_given()) entry["default"] = nullptr;
      if (!key.allowed.empty()) entry["allowed"] = names_of_choice(key);
      if (!key.integers.empty()) entry["allowed"] = key.integers;
      if (key.bounds.has_minimum()) entry[key.bounds.is_open_below ? "above" : "minimum"] = key.bounds.minimum;
      if (key.bounds.has_maximum()) entry["maximum"] = key.bounds.maximum;
      keys.push_back(std::move(entry));
    }
    sections.push_back({{"name", section.name},
                        {"documentation", section.documentation},
                        {"repeated", section.is_repeated()},
                        {"keys", std::move(keys)}});
  }
  return {{"format", "tessera-schema"}, {"version", 1}, {"sections", std::move(sections)}};
}

}  // namespace tessera::app
