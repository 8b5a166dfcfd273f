// The one table of run-file keys. Parsing, validation, `--print-defaults`, `--schema`, the reference page and what a
// restart compares come from it.
//
// To add a key: a member with its default in run_config.h, a row in run_schema.cpp. Nothing else. A choice is an
// enumeration with its names beside it, which `names_of(choice)` returns.
//
// A schema is a value: those who read or write run files are given one, and run_schema() is that of run files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tessera/app/config/run_config.h"

namespace tessera::app {

/// A value as a run file writes it: in the key's own unit, a choice by its name, what is left to Tessera as "auto". A
/// schedule is a number or a list of points in time.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<std::string>,
                           std::vector<TimeSchedule::Point>>;

enum class ValueType { boolean, integer, real, text, integers, texts, schedule };

constexpr double any_count = 9e15;  // more than anything is counted to

/// What numbers a key takes; the default admits all finite ones.
struct Bounds {
  double minimum = -1e300, maximum = 1e300;
  bool is_open_below = false;  // the minimum itself is refused

  bool contains(double value) const { return (is_open_below ? value > minimum : value >= minimum) && value <= maximum; }
  bool has_minimum() const { return minimum > -1e300; }
  bool has_maximum() const;
  /// Describes the bounds: "more than 0 and at most 10"; empty where everything is admitted.
  std::string describe() const;
};

/// What a key decides about a trajectory. A restart must have the same values of keys that decide bits, and does not
/// look at those that decide how a run begins.
enum class Decides { nothing, bits, start };
inline constexpr std::array<std::string_view, 3> decides_names = {"nothing", "bits", "start"};

struct Key {
  std::string section, name;
  ValueType type;
  std::string unit;                    // empty: a pure number
  std::vector<std::string> allowed;    // names of a choice; empty: any
  std::vector<std::int64_t> integers;  // allowed integers; empty: any in the bounds
  Bounds bounds;
  std::string documentation;  // one line
  Value default_value;
  std::string example;         // as TOML, of a key that has no default and must be given
  bool is_path = false;        // relative to the run file
  bool may_be_empty = false;   // of a path: none
  bool may_be_auto = false;    // "auto" beside values of the type
  bool selects_atoms = false;  // a selection, or a list of them; empty: none
  Decides decides = Decides::nothing;
  std::function<bool(const RunConfig&)> decides_bits_where;  // whatever `decides` says; empty: nowhere
  std::function<bool(const RunConfig&)> has_effect;          // whether the value is used at all; empty: always

  // `row` is the number of the record, in a section that is repeated.
  std::function<void(RunConfig&, std::size_t row, const Value&)> store_in;  // of a checked value
  std::function<Value(const RunConfig&, std::size_t row)> load_from;

  void store(RunConfig& config, const Value& value, std::size_t row = 0) const { store_in(config, row, value); }
  Value load(const RunConfig& config, std::size_t row = 0) const { return load_from(config, row); }
  bool must_be_given() const { return !example.empty(); }
  Decides decides_with(const RunConfig& config) const {
    return decides_bits_where && decides_bits_where(config) ? Decides::bits : decides;
  }
  std::string full_name() const { return section + "." + name; }
};

/// [name], or [[name]], which may stand any number of times.
struct Section {
  std::string name;
  std::string documentation;  // one line
  std::vector<Key> keys;      // in the order of documentation
  // These belong to a repeated section, and are empty otherwise.
  std::function<std::size_t(const RunConfig&)> count;
  std::function<void(RunConfig&)> append;
  std::function<void(RunConfig&)> clear;
  bool holds_sections = false;  // beside its keys, all other sections of the schema, as [name.section]

  bool is_repeated() const { return static_cast<bool>(append); }
  std::size_t n_rows(const RunConfig& config) const { return is_repeated() ? count(config) : 1; }
  const Key* find(std::string_view key) const;
  /// Returns "section.key", or "section.ROW.key" where the section is repeated.
  std::string name_of(std::size_t row, const Key& key) const {
    return is_repeated() ? name + "." + std::to_string(row) + "." + key.name : key.full_name();
  }
  std::string header() const { return is_repeated() ? "[[" + name + "]]" : "[" + name + "]"; }
};

struct Schema {
  std::vector<Section> sections;

  const Section* find(std::string_view section) const;
  /// Returns the key of this full name, which must exist.
  const Key& key(std::string_view full_name) const;
};

const Schema& run_schema();

/// A text of a run file that selects atoms, with the name of its key ("restraint.0.select").
struct NamedSelection {
  std::string key, text;
  bool decides_bits;
};
/// Returns all texts of a configuration that select atoms.
std::vector<NamedSelection> selections_of(const RunConfig& config, const Schema& schema = run_schema());

/// Prints every key with its default and documentation, as a TOML file to start from.
std::string print_defaults(const Schema& schema = run_schema());

/// Returns the table, for the Python package and the reference page.
nlohmann::json schema_to_json(const Schema& schema = run_schema());

bool is_auto(const Value& value);

/// Describes what a key takes, for messages and documentation: "an integer", "one of cut, shift".
std::string describe_expected(const Key& key);

/// Returns JSON on one line, or with this indent; bytes of paths that are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = -1);

std::string toml_text(const Value& value);

}  // namespace tessera::app
