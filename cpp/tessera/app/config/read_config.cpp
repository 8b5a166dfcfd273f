#include "tessera/app/config/read_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tessera/app/config/apply.h"
#include "tessera/app/config/removed_keys.h"
#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"

namespace tessera::app {
namespace {

constexpr std::size_t most_bytes = 1'000'000;  // of a run file; one with every key has 10,000

/// Throws InputError where values are nested too deeply. The TOML parser recurses into them: it limits the depth of
/// brackets, but dots in keys would exhaust the stack.
void check_nesting(std::string_view text, const std::string& place) {
  constexpr std::ptrdiff_t most = 2000;
  if (const auto dots = std::count(text.begin(), text.end(), '.'); dots > most)
    throw InputError(fmt::format("{}: holds {} dots, expected at most {} (keys are section.key)", place, dots, most));
}

std::vector<std::string> section_names(const Schema& schema) {
  std::vector<std::string> names;
  for (const auto& section : schema.sections) names.push_back(section.name);
  return names;
}

std::string did_you_mean(const std::string& nearest, const std::string& otherwise) {
  return nearest.empty() ? otherwise : fmt::format("did you mean {}?", nearest);
}

/// Returns the beginning of a long text, for messages.
std::string shortened(const std::string& text) {
  std::size_t end = 100;
  if (text.size() <= end) return text;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // whole characters of UTF-8
  return text.substr(0, end) + "…";
}

/// Returns "unknown key …" with a suggestion: another section that has the key, or the nearest name.
std::string unknown_key(const Schema& schema, const Section& section, const std::string& name) {
  for (const auto& other : schema.sections)
    if (const Key* key = other.find(name))
      return fmt::format("unknown key {}.{}; did you mean {}?", section.name, name, key->full_name());
  std::vector<std::string> here;
  for (const auto& key : section.keys) here.push_back(key.name);
  const std::string nearest = nearest_word(name, here);
  if (!nearest.empty())
    return fmt::format("unknown key {}.{}; did you mean {}.{}?", section.name, name, section.name, nearest);
  return fmt::format("unknown key {}.{}; {} has the keys {}", section.name, name, section.header(),
                     fmt::join(here, ", "));
}

std::string unknown_section(const Schema& schema, const std::string& section) {
  const auto names = section_names(schema);
  return fmt::format(
      "unknown section [{}]; {}", section,
      did_you_mean(nearest_word(section, names), fmt::format("the sections are {}", fmt::join(names, ", "))));
}

/// Reads a whole number, also where it is written as 1e6.
std::optional<std::int64_t> whole(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* real = node.as_floating_point()) {
    const double value = real->get();
    if (std::abs(value) < 9e15 && std::floor(value) == value) return static_cast<std::int64_t>(value);
  }
  return std::nullopt;
}

std::optional<double> real(const toml::node& node) {
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_integer()) return static_cast<double>(value->get());
  return std::nullopt;
}

/// Returns the node as a value of the key's type; nothing where the type is wrong.
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
      if (const auto value = real(node)) return *value;
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
    case ValueType::texts: {
      const auto* array = node.as_array();
      if (!array) return std::nullopt;
      std::vector<std::string> texts;
      for (const auto& element : *array) {
        if (!element.is_string()) return std::nullopt;
        texts.push_back(element.as_string()->get());
      }
      return texts;
    }
    case ValueType::schedule: {
      if (const auto value = real(node)) return *value;
      const auto* array = node.as_array();
      if (!array || array->empty()) return std::nullopt;
      std::vector<TimeSchedule::Point> points;
      for (const auto& element : *array) {
        const auto* pair = element.as_array();
        if (!pair || pair->size() != 2) return std::nullopt;
        const auto time = real(*pair->get(0)), number = real(*pair->get(1));
        if (!time || !number) return std::nullopt;
        points.push_back({*time, *number});
      }
      return points;
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
      return key.bounds.contains(static_cast<double>(v));
    }
    case ValueType::real:
      return std::isfinite(std::get<double>(value)) && key.bounds.contains(std::get<double>(value));
    case ValueType::text: {
      const auto& v = std::get<std::string>(value);
      return key.allowed.empty() || std::find(key.allowed.begin(), key.allowed.end(), v) != key.allowed.end();
    }
    case ValueType::integers: {
      const auto& v = std::get<std::vector<std::int64_t>>(value);
      return (v.empty() || v.size() == 3) && std::all_of(v.begin(), v.end(), [&](std::int64_t i) {
               return key.bounds.contains(static_cast<double>(i));
             });
    }
    case ValueType::texts:
      return true;
    case ValueType::schedule: {
      if (const auto* number = std::get_if<double>(&value))
        return std::isfinite(*number) && key.bounds.contains(*number);
      double last = -1;
      for (const auto& [time, number] : std::get<std::vector<TimeSchedule::Point>>(value)) {
        const bool rises = std::isfinite(time) && time >= 0 && time > last;
        if (!rises || !std::isfinite(number) || !key.bounds.contains(number)) return false;
        last = time;
      }
      return true;
    }
  }
  return false;
}

std::string found_text(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& n) { text << n; });
  return shortened(text.str());
}

/// Tells whether a count is greater than any; --set leaves one without room in 64 bits a text.
bool is_beyond_counts(const Key& key, const toml::node& node) {
  if (key.type != ValueType::integer || key.bounds.maximum != any_count) return false;
  if (const auto* text = node.as_string())
    return text->get().size() > 15 && text->get().find_first_not_of("0123456789") == std::string::npos;
  const auto number = real(node);
  return number && *number > any_count;
}

/// Checks a node against its key and stores it in this row of its section.
void set_key(RunConfig& config, const Key& key, std::size_t row, const toml::node& node, const std::string& folder,
             const std::string& place, Errors& errors) {
  auto value = convert(key, node);
  if (!value || !is_admitted(key, *value)) {
    std::string hint;
    if (value && !key.allowed.empty()) {
      const std::string nearest = nearest_word(std::get<std::string>(*value), key.allowed);
      if (!nearest.empty()) hint = fmt::format("; did you mean \"{}\"?", nearest);
    }
    if (is_beyond_counts(key, node)) hint = fmt::format(" and at most {:.0f}", any_count);
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
  key.store(config, *value, row);
}

std::string line_of(const std::string& name, const toml::node& node) {
  return fmt::format("{}:{}", name, node.source().begin.line);
}

std::string syntax_error(const std::string& place, const toml::parse_error& error) {
  return fmt::format("{}:{}:{}: not TOML: {}", place, error.source().begin.line, error.source().begin.column,
                     error.description());
}

void apply_rows(RunConfig& config, const Schema& schema, const Section& section, const toml::node& node,
                const std::string& name, const std::string& folder, Errors& errors, bool is_in_stage);

/// Reads the keys of one [section], or of one row of a [[section]], and the sections in it: [[output.selection]].
void apply_keys(RunConfig& config, const Schema& schema, const Section& section, std::size_t row,
                const toml::table& keys, const std::string& name, const std::string& folder, Errors& errors,
                bool is_in_stage) {
  for (const auto& [key_name, value] : keys) {
    const std::string key_text = shortened(std::string(key_name.str()));
    if (section.holds_sections && !section.find(key_text)) continue;  // apply_table() reads them
    if (const auto* inner = schema.find(section.name + "." + key_text))
      apply_rows(config, schema, *inner, value, name, folder, errors, is_in_stage);
    else if (const Key* key = section.find(key_text))
      set_key(config, *key, row, value, folder, line_of(name, value), errors);
    else if (const auto full = section.name + "." + key_text; is_removed(full))
      config.removed[full] = {line_of(name, value),
                              value.is_string() ? shortened(value.as_string()->get()) : found_text(value)};
    else
      errors.add(line_of(name, value), unknown_key(schema, section, key_text));
  }
  if (!section.is_repeated()) return;  // may be given by an override
  for (const auto& key : section.keys)
    if (key.must_be_given() && !keys.contains(key.name))
      errors.add(line_of(name, keys),
                 fmt::format("{} is missing; write for example {} = {}", key.full_name(), key.name, key.example));
}

void apply_rows(RunConfig& config, const Schema& schema, const Section& section, const toml::node& node,
                const std::string& name, const std::string& folder, Errors& errors, bool is_in_stage) {
  const auto* rows = node.as_array();
  if (!rows || !std::all_of(rows->begin(), rows->end(), [](const toml::node& row) { return row.is_table(); }))
    return errors.add(
        line_of(name, node),
        fmt::format("{} is {}, expected {}, once for each", section.name,
                    node.is_table() ? "the section [" + section.name + "]" : "a value", section.header()));
  if (is_in_stage) section.clear(config);  // its rows take the place of those of the stage above
  for (const auto& row : *rows) {
    section.append(config);
    apply_keys(config, schema, section, section.n_rows(config) - 1, *row.as_table(), name, folder, errors, is_in_stage);
  }
}

}  // namespace

void apply_table(RunConfig& config, const Schema& schema, const toml::table& table, const std::string& name,
                 const std::string& folder, Errors& errors, const Section* stage) {
  for (const auto& [section_key, node] : table) {
    const std::string section_name = shortened(std::string(section_key.str()));
    if (stage && stage->find(section_name)) continue;  // a key of the stage itself
    const auto* section = schema.find(section_name);
    if (!section) {
      // This is a key before the first section, or a section that does not exist.
      const auto owner = std::find_if(schema.sections.begin(), schema.sections.end(),
                                      [&](const Section& one) { return one.find(section_name) != nullptr; });
      if (!node.is_table() && owner != schema.sections.end())
        errors.add(line_of(name, node), fmt::format("{} stands in no section; write {}", section_name,
                                                    stage ? fmt::format("{}.{} = …", owner->name, section_name)
                                                          : fmt::format("it below {}", owner->header())));
      else
        errors.add(line_of(name, node), unknown_section(schema, section_name));
    } else if (section->is_repeated()) {
      apply_rows(config, schema, *section, node, name, folder, errors, stage != nullptr);
    } else if (const auto* keys = node.as_table()) {
      apply_keys(config, schema, *section, 0, *keys, name, folder, errors, stage != nullptr);
    } else {
      errors.add(line_of(name, node),
                 fmt::format("{} is a value, expected the section [{}]", section_name, section_name));
    }
  }
}

namespace {

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Returns the row that `name` ("2.key") says, which it then no longer holds; nothing, and an error, where there is no
/// such row.
std::optional<std::size_t> row_of(const Section& section, const RunConfig& config, std::string& name,
                                  const std::string& place, Errors& errors) {
  if (!section.is_repeated()) return 0;
  const auto dot = name.find('.');
  const std::string number = name.substr(0, dot);
  std::size_t row = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), row);
  if (dot == std::string::npos || error != std::errc() || end != number.data() + number.size()) {
    errors.add(place, fmt::format("expected {}.NUMBER.key=value, as {} may stand several times; the first is number 0",
                                  section.name, section.header()));
    return std::nullopt;
  }
  const auto n = section.n_rows(config);
  if (row >= n) {
    errors.add(place, fmt::format("there is no {} number {}: the run file has {}, which count from 0", section.header(),
                                  row, n));
    return std::nullopt;
  }
  name = name.substr(dot + 1);
  return row;
}

}  // namespace

void apply_override(RunConfig& config, const Schema& schema, const std::string& text, Errors& errors) {
  const std::string place = "--set " + shortened(text);
  const auto equals = text.find('=');
  const std::string full = shortened(trimmed(text.substr(0, equals)));
  const auto dot = full.find('.');
  if (equals == std::string::npos || full.empty()) return errors.add(place, "expected section.key=value");
  if (dot == std::string::npos) {
    std::vector<std::string> names;
    for (const auto& section : schema.sections)
      for (const auto& key : section.keys) {
        if (key.name == full)
          return errors.add(place, fmt::format("expected section.key=value: {}=…", key.full_name()));
        names.push_back(key.full_name());
      }
    return errors.add(place,
                      "expected section.key=value; " +
                          did_you_mean(nearest_word(full, names), "tessera run --print-defaults lists the keys"));
  }
  const auto inner = full.find('.', dot + 1);
  const Section* section = inner == std::string::npos ? nullptr : schema.find(full.substr(0, inner));
  if (!section) section = schema.find(full.substr(0, dot));
  if (!section) return errors.add(place, unknown_section(schema, full.substr(0, dot)));
  std::string name = full.substr(section->name.size() + 1);
  const auto row = row_of(*section, config, name, place, errors);
  if (!row) return;
  std::string value = trimmed(text.substr(equals + 1));
  const Key* key = section->find(name);
  if (!key && is_removed(full)) {
    std::erase(value, '"');
    config.removed[full] = {place, shortened(value)};
    return;
  }
  if (!key) return errors.add(place, unknown_key(schema, *section, name));

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
  set_key(config, *key, *row, *table.get("value"), "", place, errors);
}

void check_together(const RunConfig& config, const std::string& name, Errors& errors) {
  if (config.input.system.empty())
    errors.add(name, "input.system is missing: write the path of the system file below [input]");
  check_removed(config, errors);
  if (config.interactions.electrostatics == Electrostatics::pme)
    for (const auto points : config.pme.grid)
      if (points < config.pme.order)
        errors.add(name, fmt::format("pme.grid holds {}, expected at least pme.order = {} points along each box vector",
                                     points, config.pme.order));
}

toml::table parse_toml(std::string_view text, const std::string& name) {
  check_nesting(text, name);
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw InputError(syntax_error(name, error));
  }
}

void read_run_text(RunConfig& config, const Schema& schema, std::string_view text, const std::string& name,
                   const std::string& folder, const std::vector<std::string>& overrides) {
  Errors errors;
  apply_table(config, schema, parse_toml(text, name), name, folder, errors);
  for (const auto& text_of_override : overrides) apply_override(config, schema, text_of_override, errors);
  errors.raise(name);
}

RunConfig default_config(const std::string& folder) {
  RunConfig config;
  config.output.folder = (std::filesystem::path(folder) / config.output.folder).lexically_normal().string();
  return config;
}

RunConfig parse_run_text(std::string_view text, const std::string& name, const std::string& folder,
                         const std::vector<std::string>& overrides) {
  auto config = default_config(folder);
  read_run_text(config, run_schema(), text, name, folder, overrides);
  // Only values that are right by themselves are held against each other.
  Errors errors;
  if (!config.stages.empty())
    errors.add(name, fmt::format("holds {} [[stage]]: expected one run here; tessera run and explain take protocols",
                                 config.stages.size()));
  check_together(config, name, errors);
  errors.raise(name);
  return config;
}

std::string text_of_run_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error && status.type() != std::filesystem::file_type::not_found)  // a loop of links, a name too long
    throw InputError(fmt::format("{}: can't be read: {}", path, system_error_text(error.value())));
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))  // a pipe can be read only once
    throw InputError(fmt::format("{}: is a {}, expected a run file (TOML); tessera run --print-defaults shows one",
                                 path,
                                 std::filesystem::is_directory(status) ? "folder" : "pipe, a device or the like"));
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
  return text;
}

RunConfig config_of_system(const std::string& system_path, const std::vector<std::string>& overrides) {
  RunConfig config;
  Errors errors;
  config.input.system = system_path;
  for (const auto& text : overrides) apply_override(config, run_schema(), text, errors);
  errors.raise("--set");
  check_together(config, "--set", errors);
  errors.raise("--set");
  return config;
}

std::string to_toml(const RunConfig& config, const Schema& schema) {
  std::string text;
  for (const auto& section : schema.sections)
    for (std::size_t row = 0; row < section.n_rows(config); ++row) {
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", section.header());
      for (const auto& key : section.keys) text += fmt::format("{} = {}\n", key.name, toml_text(key.load(config, row)));
    }
  return text;
}

nlohmann::json to_json(const RunConfig& config, const Schema& schema) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& section : schema.sections) {
    auto rows = nlohmann::json::array();
    for (std::size_t row = 0; row < section.n_rows(config); ++row) {
      auto values = nlohmann::json::object();
      for (const auto& key : section.keys)
        std::visit([&](const auto& value) { values[key.name] = value; }, key.load(config, row));
      rows.push_back(std::move(values));
    }
    json[section.name] = section.is_repeated() ? std::move(rows) : std::move(rows.front());
  }
  return json;
}

}  // namespace tessera::app
