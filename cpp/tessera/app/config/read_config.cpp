#include "tessera/app/config/read_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tessera/app/config/errors.h"
#include "tessera/app/config/schema.h"
#include "tessera/base/descriptor.h"
#include "tessera/base/error.h"

namespace tessera::app {
namespace {

constexpr std::size_t most_bytes = 1'000'000;  // of a run file; one with every key has 10,000

/// The reader of TOML follows nested values by recursion: brackets to a limit of its own, the dots of keys to the end
/// of the stack. Throws InputError.
void check_nesting(std::string_view text, const std::string& place) {
  constexpr std::ptrdiff_t most = 2000;
  if (const auto dots = std::count(text.begin(), text.end(), '.'); dots > most)
    throw InputError(fmt::format("{}: holds {} dots, expected at most {} (keys are section.key)", place, dots, most));
}

const Key* find_key(const std::string& section, const std::string& name) {
  for (const auto& key : schema())
    if (key.section == section && key.name == name) return &key;
  return nullptr;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const auto& key : schema())
    if (names.empty() || names.back() != key.section) names.push_back(key.section);
  return names;
}

std::string did_you_mean(const std::string& nearest, const std::string& otherwise) {
  return nearest.empty() ? otherwise : fmt::format("did you mean {}?", nearest);
}

/// The beginning of a long text, for messages.
std::string shortened(const std::string& text) {
  std::size_t end = 100;
  if (text.size() <= end) return text;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // whole characters of UTF-8
  return text.substr(0, end) + "…";
}

/// "unknown key …" with where it belongs: another section that has it, or the nearest name.
std::string unknown_key(const std::string& section, const std::string& name) {
  std::vector<std::string> here;
  for (const auto& key : schema()) {
    if (key.section == section) here.push_back(key.name);
    if (key.name == name) return fmt::format("unknown key {}.{}; did you mean {}?", section, name, key.full_name());
  }
  const std::string nearest = nearest_word(name, here);
  if (!nearest.empty()) return fmt::format("unknown key {}.{}; did you mean {}.{}?", section, name, section, nearest);
  return fmt::format("unknown key {}.{}; [{}] has the keys {}", section, name, section, fmt::join(here, ", "));
}

std::string unknown_section(const std::string& section) {
  return fmt::format("unknown section [{}]; {}", section,
                     did_you_mean(nearest_word(section, section_names()),
                                  fmt::format("the sections are {}", fmt::join(section_names(), ", "))));
}

/// A whole number, also where it is written as 1e6.
std::optional<std::int64_t> whole(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* real = node.as_floating_point()) {
    const double value = real->get();
    if (std::abs(value) < 9e15 && std::floor(value) == value) return static_cast<std::int64_t>(value);
  }
  return std::nullopt;
}

/// The node as a value of the key's type; nothing where the type is wrong.
std::optional<Value> convert(const Key& key, const toml::node& node) {
  if (const auto* value = node.as_string(); value && key.may_be_auto && is_auto(value->get())) return value->get();
  switch (key.type) {
    case ValueType::boolean:
      if (const auto* value = node.as_boolean()) return value->get();
      return std::nullopt;
    case ValueType::integer:
      if (const auto value = whole(node)) return *value;
      return std::nullopt;
    case ValueType::real:
      if (const auto* value = node.as_floating_point()) return value->get();
      if (const auto* value = node.as_integer()) return static_cast<double>(value->get());
      return std::nullopt;
    case ValueType::text:
      if (const auto* value = node.as_string()) return value->get();
      return std::nullopt;
    case ValueType::integers: {
      const auto* array = node.as_array();
      if (!array) return std::nullopt;
      std::vector<std::int64_t> values;
      for (const auto& element : *array) {
        const auto value = whole(element);
        if (!value) return std::nullopt;
        values.push_back(*value);
      }
      return values;
    }
  }
  return std::nullopt;
}

bool is_admitted(const Key& key, const Value& value) {
  if (key.may_be_auto && is_auto(value)) return true;
  switch (key.type) {
    case ValueType::boolean:
      return true;
    case ValueType::integer: {
      const auto v = std::get<std::int64_t>(value);
      if (!key.integers.empty()) return std::find(key.integers.begin(), key.integers.end(), v) != key.integers.end();
      return key.range.contains(static_cast<double>(v));
    }
    case ValueType::real:
      return std::isfinite(std::get<double>(value)) && key.range.contains(std::get<double>(value));
    case ValueType::text: {
      const auto& v = std::get<std::string>(value);
      return key.allowed.empty() || std::find(key.allowed.begin(), key.allowed.end(), v) != key.allowed.end();
    }
    case ValueType::integers: {
      const auto& v = std::get<std::vector<std::int64_t>>(value);
      return (v.empty() || v.size() == 3) && std::all_of(v.begin(), v.end(), [&](std::int64_t i) {
               return key.range.contains(static_cast<double>(i));
             });
    }
  }
  return false;
}

std::string found_text(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& n) { text << n; });
  return shortened(text.str());
}

/// Checks a node against its key and stores it.
void set_key(RunConfig& config, const Key& key, const toml::node& node, const std::string& folder,
             const std::string& place, Errors& errors) {
  auto value = convert(key, node);
  if (!value || !is_admitted(key, *value)) {
    std::string hint;
    if (value && !key.allowed.empty()) {
      const std::string nearest = nearest_word(std::get<std::string>(*value), key.allowed);
      if (!nearest.empty()) hint = fmt::format("; did you mean \"{}\"?", nearest);
    }
    errors.add(place,
               fmt::format("{} = {}, expected {}{}", key.full_name(), found_text(node), describe_expected(key), hint));
    return;
  }
  if (key.is_path) {
    auto& path = std::get<std::string>(*value);
    if (path.empty() && !key.may_be_empty)
      return errors.add(place, fmt::format("{} is empty, expected a path", key.full_name()));
    if (!path.empty()) path = (std::filesystem::path(folder) / path).lexically_normal().string();
  }
  key.store(config, *value);
}

std::string line_of(const std::string& name, const toml::node& node) {
  return fmt::format("{}:{}", name, node.source().begin.line);
}

std::string syntax_error(const std::string& place, const toml::parse_error& error) {
  return fmt::format("{}:{}:{}: not TOML: {}", place, error.source().begin.line, error.source().begin.column,
                     error.description());
}

void apply_table(RunConfig& config, const toml::table& table, const std::string& name, const std::string& folder,
                 Errors& errors) {
  const auto names = section_names();
  for (const auto& [section_key, node] : table) {
    const std::string section = shortened(std::string(section_key.str()));
    const auto* keys = node.as_table();
    if (std::find(names.begin(), names.end(), section) == names.end()) {
      // A key that stands before the first section, or a section that does not exist.
      const auto owner =
          std::find_if(schema().begin(), schema().end(), [&](const Key& k) { return k.name == section; });
      if (!keys && owner != schema().end())
        errors.add(line_of(name, node),
                   fmt::format("{} stands in no section; write it below [{}]", section, owner->section));
      else
        errors.add(line_of(name, node), unknown_section(section));
      continue;
    }
    if (!keys) {
      errors.add(line_of(name, node), fmt::format("{} is a value, expected the section [{}]", section, section));
      continue;
    }
    for (const auto& [key_name, value] : *keys) {
      const std::string key_text = shortened(std::string(key_name.str()));
      if (const Key* key = find_key(section, key_text))
        set_key(config, *key, value, folder, line_of(name, value), errors);
      else
        errors.add(line_of(name, value), unknown_key(section, key_text));
    }
  }
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// "section.key=value".
void apply_override(RunConfig& config, const std::string& text, Errors& errors) {
  const std::string place = "--set " + shortened(text);
  const auto equals = text.find('=');
  const std::string full = shortened(trimmed(text.substr(0, equals)));
  const auto dot = full.find('.');
  if (equals == std::string::npos || full.empty()) return errors.add(place, "expected section.key=value");
  if (dot == std::string::npos) {
    std::vector<std::string> names;
    for (const auto& key : schema()) {
      if (key.name == full) return errors.add(place, fmt::format("expected section.key=value: {}=…", key.full_name()));
      names.push_back(key.full_name());
    }
    return errors.add(place,
                      "expected section.key=value; " +
                          did_you_mean(nearest_word(full, names), "tessera run --print-defaults lists the keys"));
  }
  const std::string section = full.substr(0, dot), name = full.substr(dot + 1);
  const auto sections = section_names();
  if (std::find(sections.begin(), sections.end(), section) == sections.end())
    return errors.add(place, unknown_section(section));
  const Key* key = find_key(section, name);
  if (!key) return errors.add(place, unknown_key(section, name));

  const std::string value = trimmed(text.substr(equals + 1));
  const bool is_bare_text = key->type == ValueType::text && (value.empty() || (value[0] != '"' && value[0] != '\''));
  toml::table table;
  if (is_bare_text) {
    table.insert("value", value);
  } else {
    check_nesting(value, place);
    try {
      table = toml::parse("value = " + value);
      if (table.size() != 1) table = toml::table{{"value", value}};
    } catch (const toml::parse_error&) {
      table.insert("value", value);  // so that the message says what was found and what was expected
    }
  }
  set_key(config, *key, *table.get("value"), "", place, errors);
}

/// What no single key can tell.
void check_together(const RunConfig& config, const std::string& name, Errors& errors) {
  if (config.input.system.empty())
    errors.add(name, "input.system is missing: write the path of the system file below [input]");
  if (config.interactions.electrostatics == Electrostatics::pme)
    for (const auto points : config.pme.grid)
      if (points < config.pme.order)
        errors.add(name, fmt::format("pme.grid holds {}, expected at least pme.order = {} points along each box vector",
                                     points, config.pme.order));
}

}  // namespace

RunConfig parse_run_text(std::string_view text, const std::string& name, const std::string& folder,
                         const std::vector<std::string>& overrides) {
  RunConfig config;
  Errors errors;
  config.output.folder = (std::filesystem::path(folder) / config.output.folder).lexically_normal().string();
  check_nesting(text, name);
  try {
    apply_table(config, toml::parse(text), name, folder, errors);
  } catch (const toml::parse_error& error) {
    throw InputError(syntax_error(name, error));
  }
  for (const auto& text_of_override : overrides) apply_override(config, text_of_override, errors);
  // Only values that are right by themselves are held against each other.
  errors.raise(name);
  check_together(config, name, errors);
  errors.raise(name);
  return config;
}

RunConfig read_run_file(const std::string& path, const std::vector<std::string>& overrides) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error && status.type() != std::filesystem::file_type::not_found)  // a loop of links, a name too long
    throw InputError(fmt::format("{}: can't be read: {}", path, system_error_text(error.value())));
  if (std::filesystem::is_directory(status))
    throw InputError(
        fmt::format("{}: is a folder, expected a run file (TOML); tessera run --print-defaults shows one", path));
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw InputError(fmt::format("{}: {}", path,
                                 std::filesystem::exists(status) ? "may not be read; check its permissions"
                                                                 : "there is no such run file; check the path"));
  std::string text(most_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_bytes)
    throw InputError(
        fmt::format("{}: is larger than {} MB, expected a run file (TOML); tessera run --print-defaults shows one",
                    path, most_bytes / 1'000'000));
  return parse_run_text(text, path, std::filesystem::path(path).parent_path().string(), overrides);
}

RunConfig config_of_system(const std::string& system_path, const std::vector<std::string>& overrides) {
  RunConfig config;
  Errors errors;
  config.input.system = system_path;
  for (const auto& text : overrides) apply_override(config, text, errors);
  errors.raise("--set");
  check_together(config, "--set", errors);
  errors.raise("--set");
  return config;
}

std::string to_toml(const RunConfig& config) {
  std::string text, section;
  for (const auto& key : schema()) {
    if (key.section != section) {
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", key.section);
      section = key.section;
    }
    text += fmt::format("{} = {}\n", key.name, toml_text(key.load(config)));
  }
  return text;
}

nlohmann::json to_json(const RunConfig& config) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& key : schema())
    std::visit([&](const auto& value) { json[key.section][key.name] = value; }, key.load(config));
  return json;
}

}  // namespace tessera::app
