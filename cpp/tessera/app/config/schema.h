// The one table of run-file keys. Parsing, validation, `--print-defaults`, `--schema` and the reference page come from
// it.
//
// To add a key: a member with its default in run_config.h, a row in schema.cpp. Nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tessera/app/config/run_config.h"

namespace tessera::app {

/// A value as a run file writes it: in the key's own unit, a choice by its name, what is left to Tessera as "auto".
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

enum class ValueType { boolean, integer, real, text, integers };

/// What numbers a key takes; the default admits all finite ones.
struct Range {
  double minimum = -1e300, maximum = 1e300;
  bool is_open_below = false;  // the minimum itself is refused

  bool contains(double value) const { return (is_open_below ? value > minimum : value >= minimum) && value <= maximum; }
  /// "more than 0 and at most 10"; empty where everything is admitted.
  std::string describe() const;
};

struct Key {
  std::string section, name;
  ValueType type;
  std::string unit;                    // empty: a pure number
  std::vector<std::string> allowed;    // names of a choice; empty: any
  std::vector<std::int64_t> integers;  // allowed integers; empty: any in the range
  Range range;
  std::string documentation;  // one line
  bool is_path = false;       // relative to the run file
  bool may_be_empty = false;  // of a path: none
  bool may_be_auto = false;   // "auto" beside values of the type

  std::function<void(RunConfig&, const Value&)> store;  // of a checked value
  std::function<Value(const RunConfig&)> load;

  std::string full_name() const { return section + "." + name; }
};

/// All keys, sections together, in the order of documentation.
const std::vector<Key>& schema();

/// One line about a section.
std::string section_documentation(const std::string& section);

/// Every key with its default and documentation, as a TOML file to start from.
std::string print_defaults();

/// The table, for the Python package and the reference page.
nlohmann::json schema_to_json();

/// True of "auto".
bool is_auto(const Value& value);

/// "an integer", "one of cut, shift": what a key takes, for messages and documentation.
std::string describe_expected(const Key& key);

/// JSON on one line, or with this indent; bytes of paths that are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = -1);

/// A value as TOML.
std::string toml_text(const Value& value);

}  // namespace tessera::app
