#include "tessera/app/config/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "tessera/base/error.h"
#include "tessera/fft/exchange.h"
#include "tessera/fft/schemes.h"
#include "tessera/md/pair/pair_scheme.h"

namespace tessera::app {
namespace {

/// What a member holds: T of T and of std::optional<T>.
template <class Field>
struct HeldType {
  using Type = Field;
};
template <class Field>
struct HeldType<std::optional<Field>> {
  using Type = Field;
};
template <class Field>
using Held = typename HeldType<Field>::Type;

/// Fluent row of the table: `Row(section, name, member…).unit("Å").range(…)`.
class Row {
 public:
  /// A bool, integer, real, text or list of integers; "auto" too where the member is optional.
  template <class Section, class Field>
  Row(Section RunConfig::*section, const char* section_name, const char* name, Field Section::*field,
      const char* documentation) {
    key_.section = section_name;
    key_.name = name;
    key_.documentation = documentation;
    using Type = Held<Field>;
    if constexpr (std::is_same_v<Type, bool>) key_.type = ValueType::boolean;
    if constexpr (std::is_same_v<Type, std::int64_t>) key_.type = ValueType::integer;
    if constexpr (std::is_same_v<Type, double>) key_.type = ValueType::real;
    if constexpr (std::is_same_v<Type, std::string>) key_.type = ValueType::text;
    if constexpr (std::is_same_v<Type, std::vector<std::int64_t>>) key_.type = ValueType::integers;
    bind(
        section, field, [](const Value& value) { return std::get<Type>(value); },
        [](const Type& held) -> Value { return held; });
  }

  /// A choice: the names of the enumeration's values, in their order; "auto" too where the member is optional.
  template <class Section, class Field>
  Row(Section RunConfig::*section, const char* section_name, const char* name, Field Section::*field,
      const std::vector<std::string>& names, const char* documentation) {
    key_.section = section_name;
    key_.name = name;
    key_.type = ValueType::text;
    key_.documentation = documentation;
    key_.allowed = names;
    bind(
        section, field,
        [names](const Value& value) {
          const auto found = std::find(names.begin(), names.end(), std::get<std::string>(value));
          TESSERA_CHECK(found != names.end());
          return static_cast<Held<Field>>(found - names.begin());
        },
        [names](Held<Field> held) -> Value { return names.at(static_cast<std::size_t>(held)); });
  }

  Row unit(const char* unit) && { return key_.unit = unit, std::move(*this); }
  Row range(double minimum, double maximum) && { return key_.range = {minimum, maximum, false}, std::move(*this); }
  Row above(double minimum, double maximum) && { return key_.range = {minimum, maximum, true}, std::move(*this); }
  Row one_of(std::vector<std::int64_t> values) && { return key_.integers = std::move(values), std::move(*this); }
  Row one_of(std::vector<std::string> names) && { return key_.allowed = std::move(names), std::move(*this); }
  Row path() && { return key_.is_path = true, std::move(*this); }
  Row path_or_none() && { return key_.is_path = key_.may_be_empty = true, std::move(*this); }

  /// Files hold fs, the configuration ps.
  Row femtoseconds() && {
    key_.unit = "fs";
    key_.store = [store = key_.store](RunConfig& config, const Value& value) {
      store(config, std::get<double>(value) / 1000.0);
    };
    // Fifteen digits bring back what was written.
    key_.load = [load = key_.load](const RunConfig& config) -> Value {
      return std::stod(fmt::format("{:.15g}", std::get<double>(load(config)) * 1000.0));
    };
    return std::move(*this);
  }

  Key take() && { return std::move(key_); }

 private:
  /// An optional member without a value is "auto".
  template <class Section, class Field, class ToHeld, class ToValue>
  void bind(Section RunConfig::*section, Field Section::*field, ToHeld to_held, ToValue to_value) {
    constexpr bool is_optional = !std::is_same_v<Field, Held<Field>>;
    key_.may_be_auto = is_optional;
    key_.store = [=](RunConfig& config, const Value& value) {
      auto& member = (config.*section).*field;
      if constexpr (is_optional) {
        if (is_auto(value)) return member.reset();
      }
      member = to_held(value);
    };
    key_.load = [=](const RunConfig& config) -> Value {
      const auto& member = (config.*section).*field;
      if constexpr (is_optional)
        return member ? to_value(*member) : Value(std::string("auto"));
      else
        return to_value(member);
    };
  }

  Key key_;
};

constexpr double any_count = 9e15;

std::vector<Key> make_schema() {
  using C = RunConfig;
  std::vector<Key> keys;
  const auto add = [&](Row&& row) { keys.push_back(std::move(row).take()); };

  using I = InputConfig;
  add(Row(&C::input, "input", "system", &I::system, "the system file (*.tsr); needed").path());

  using N = InteractionsConfig;
  const auto n = &C::interactions;
  add(Row(n, "interactions", "cutoff", &N::cutoff,
          "no direct interaction beyond this distance; auto: as the source of the system has it")
          .unit("Å")
          .above(0, 1e6));
  add(Row(n, "interactions", "switch", &N::switch_distance,
          "where the switching of Lennard-Jones begins; auto: as far below the cut-off as the source has it, or 2 Å")
          .unit("Å")
          .range(0, 1e6));
  add(Row(n, "interactions", "lj", &N::lj, {model::lj_modifier_names.begin(), model::lj_modifier_names.end()},
          "how Lennard-Jones goes to zero at the cut-off; auto: as the source of the system has it"));
  add(Row(n, "interactions", "lj_tail", &N::lj_tail,
          "add the mean energy and pressure of Lennard-Jones beyond the cut-off; auto: as the source of the system, "
          "false without a box"));
  add(Row(n, "interactions", "electrostatics", &N::electrostatics, {"pme", "cut", "shift", "force-switch"},
          "particle-mesh Ewald, or a cut-off with or without shift or switch"));
  add(Row(n, "interactions", "coulomb_switch", &N::coulomb_switch,
          "where the switching begins with electrostatics = \"force-switch\"")
          .unit("Å")
          .range(0, 1e6));
  add(Row(n, "interactions", "pair_function", &N::pair_function, {"auto", "analytic", "table"},
          "how forces follow from distance: by formula, or from a table in 1/r² (some pair schemes); auto: analytic"));
  add(Row(n, "interactions", "table_density", &N::table_density,
          "of pair_function = \"table\": points between 1/r² = 0 and that of the cut-off; errors go with 1/density²")
          .range(4, 10000));

  using P = PmeConfig;
  add(Row(&C::pme, "pme", "order", &P::order, "order of the B-splines").one_of({4, 6, 8}));
  add(Row(&C::pme, "pme", "cutoff", &P::cutoff,
          "where the direct sum ends, at or beyond interactions.cutoff; 0: there. The further, the coarser a grid "
          "serves")
          .unit("Å")
          .range(0, 1e6));
  add(Row(&C::pme, "pme", "spacing", &P::spacing, "greatest distance of grid points").unit("Å").range(0.1, 10));
  add(Row(&C::pme, "pme", "tolerance", &P::tolerance, "erfc(alpha·cutoff): what the direct sum leaves out")
          .above(0, 0.1));
  add(Row(&C::pme, "pme", "alpha", &P::alpha, "splitting parameter; 0: from the tolerance").unit("1/Å").range(0, 10));
  add(Row(&C::pme, "pme", "grid", &P::grid, "three numbers of grid points; []: from the spacing").range(4, 65536));

  std::vector<std::string> layouts = {"auto", "trial"};
  for (const auto& scheme : fft::schemes()) layouts.emplace_back(scheme.name);
  add(Row(&C::fft, "fft", "scheme", &FftConfig::scheme,
          "how the mesh is laid out over ranks; auto: the one of least predicted time; trial: of least measured time, "
          "which is remembered")
          .one_of(std::move(layouts)));
  std::vector<std::string> exchanges = {"auto"};
  exchanges.insert(exchanges.end(), fft::exchanges().begin(), fft::exchanges().end());
  add(Row(&C::fft, "fft", "exchange", &FftConfig::exchange,
          "how parts of the mesh go between ranks; auto: pairwise, or collectives where parallel.machine predicts a "
          "gain")
          .one_of(std::move(exchanges)));

  using D = DynamicsConfig;
  const auto d = &C::dynamics;
  add(Row(d, "dynamics", "steps", &D::steps, "number of steps, counted from the start of the first run")
          .range(0, any_count));
  add(Row(d, "dynamics", "timestep", &D::timestep, "length of a step").femtoseconds().above(0, 100));
  add(Row(d, "dynamics", "ensemble", &D::ensemble, {"nve"}, "what is held constant"));
  add(Row(d, "dynamics", "constraints", &D::constraints, {"none", "h-bonds", "all-bonds"},
          "bonds of fixed length; rigid waters are rigid unless this is none"));
  add(Row(d, "dynamics", "constraint_tolerance", &D::constraint_tolerance, "greatest relative error of a fixed length")
          .above(0, 1e-3));
  add(Row(d, "dynamics", "temperature", &D::temperature, "of generated velocities").unit("K").range(0, 1e6));
  add(Row(d, "dynamics", "velocities", &D::velocities, {"auto", "generate", "file", "zero"},
          "where they come from; auto: the system file if it has them, else generated"));
  add(Row(d, "dynamics", "seed", &D::seed, "of random numbers").range(0, any_count));
  add(Row(d, "dynamics", "com_removal_every", &D::com_removal_every,
          "steps between removals of the motion of the centre of mass; 0: never")
          .range(0, any_count));

  using O = OutputConfig;
  const auto o = &C::output;
  add(Row(o, "output", "folder", &O::folder, "where everything that the run writes goes").path());
  add(Row(
      o, "output", "overwrite", &O::overwrite,
      "move the files of an earlier run into previous-1 (or -2, …) in that folder once step 1 is done; false: refuse"));
  add(Row(o, "output", "trajectory", &O::trajectory, {"dcd", "h5md", "none"}, "format of the trajectory"));
  add(Row(o, "output", "trajectory_every", &O::trajectory_every, "steps between frames; 0: no trajectory")
          .range(0, any_count));
  add(Row(o, "output", "velocities", &O::velocities, "frames hold velocities too (trajectory = \"h5md\")"));
  add(Row(o, "output", "energy_every", &O::energy_every, "steps between rows of energy.csv; 0: none")
          .range(0, any_count));
  add(Row(o, "output", "checkpoint_every", &O::checkpoint_every, "steps between checkpoints; 0: at the end only")
          .range(0, any_count));
  add(Row(o, "output", "wrap", &O::wrap,
          "true: frames hold whole molecules, first atoms in the box; false: every atom in the box"));
  add(Row(o, "output", "progress", &O::progress, {"auto", "line", "log", "none"},
          "one line rewritten, a new line each minute, or none; auto: line on a terminal, else log"));

  using L = ParallelConfig;
  const auto l = &C::parallel;
  add(Row(l, "parallel", "threads", &L::threads, "threads of each rank").range(1, 4096));
  add(Row(l, "parallel", "pair_search_every", &L::pair_search_every,
          "greatest number of steps between searches, which sort atoms into cells")
          .range(1, 10000));
  add(Row(l, "parallel", "buffer", &L::buffer,
          "how far two atoms together may move between searches; more where cells have room for it")
          .unit("Å")
          .range(0, 100));
  add(Row(l, "parallel", "list_steps", &L::list_steps,
          "about how many steps a list of near pairs lasts; few: shorter lists, made more often; the result is the "
          "same")
          .range(0, 100));
  add(Row(l, "parallel", "balance", &L::balance,
          "give cells to other ranks where some have more to do than others; the result is the same"));
  add(Row(l, "parallel", "reorder", &L::reorder,
          "give neighbouring cells to ranks of one host, then of one subnet of the map, whatever their numbers; the "
          "result is the same"));
  add(Row(l, "parallel", "precision", &L::precision, {"mixed", "double"},
          "of the direct sum: single with exact accumulation, or double"));
  std::vector<std::string> schemes = {"auto"};
  for (const auto& scheme : md::pair::pair_schemes()) schemes.emplace_back(scheme.name);
  add(Row(l, "parallel", "pair_scheme", &L::pair_scheme,
          "way of finding and summing pairs; auto: the first that has this precision and pair_function")
          .one_of(std::move(schemes)));
  add(Row(l, "parallel", "machine", &L::machine,
          "the map that tessera machine measure wrote, by which the layout is chosen; \"\": TESSERA_MACHINE of the "
          "environment, or no map")
          .path_or_none());
  return keys;
}

std::string expected_number(const Key& key, const char* kind) {
  std::string text = kind;
  const std::string range = key.range.describe();
  if (!range.empty()) text += " " + range;
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
  }
  return "";
}

/// All that a choice takes; empty where the key is no choice.
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
  }
  return "";
}

}  // namespace

std::string Range::describe() const {
  std::string text;
  if (minimum > -1e300) text = fmt::format("{} {}", is_open_below ? "more than" : "at least", minimum);
  if (maximum < any_count) text += fmt::format("{}at most {}", text.empty() ? "" : " and ", maximum);
  return text;
}

const std::vector<Key>& schema() {
  static const std::vector<Key> keys = make_schema();
  return keys;
}

std::string section_documentation(const std::string& section) {
  if (section == "input") return "What is simulated.";
  if (section == "interactions") return "Forces between atoms that no bond joins.";
  if (section == "pme") return "Particle-mesh Ewald; of no effect with other electrostatics.";
  if (section == "fft") return "Transforms of the mesh; the result does not depend on it.";
  if (section == "dynamics") return "How the atoms move.";
  if (section == "output") return "What is written, and how often.";
  if (section == "parallel") return "How the work is done; results do not depend on threads or ranks.";
  return "";
}

std::string json_text(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string toml_text(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
        if constexpr (std::is_same_v<T, std::int64_t>) return fmt::format("{}", v);
        if constexpr (std::is_same_v<T, double>) {
          std::string text = fmt::format("{}", v);  // the fewest digits that bring the value back
          if (text.find_first_of(".en") == std::string::npos) text += ".0";
          return text;
        }
        if constexpr (std::is_same_v<T, std::string>) return json_text(v);
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return fmt::format("[{}]", fmt::join(v, ", "));
      },
      value);
}

bool is_auto(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text && *text == "auto";
}

std::string describe_expected(const Key& key) { return describe_type(key) + (key.may_be_auto ? " or \"auto\"" : ""); }

std::string print_defaults() {
  const RunConfig defaults;
  std::string text =
      "# A run file of Tessera with every key at its default. Paths are relative to this file.\n"
      "# Units: Å, fs, K. Run it with `tessera run run.toml -n RANKS`.\n";
  std::string section;
  for (const auto& key : schema()) {
    if (key.section != section) {
      section = key.section;
      text += fmt::format("\n[{}]  # {}\n", section, section_documentation(section));
    }
    // The one key without a default must be filled in.
    const bool is_needed = key.full_name() == "input.system";
    const std::string line =
        fmt::format("{} = {}", key.name, is_needed ? "\"system.tsr\"" : toml_text(key.load(defaults)));
    std::string comment = key.documentation;
    if (!key.unit.empty()) comment += fmt::format(", {}", key.unit);
    const auto names = names_of_choice(key);
    if (names.size() > 1) comment += fmt::format(" ({})", fmt::join(names, ", "));
    if (!key.integers.empty()) comment += fmt::format(" ({})", fmt::join(key.integers, ", "));
    text += fmt::format("{:<28}  # {}\n", line, comment);
  }
  return text;
}

nlohmann::json schema_to_json() {
  const RunConfig defaults;
  nlohmann::json sections = nlohmann::json::array();
  for (const auto& key : schema()) {
    if (sections.empty() || sections.back()["name"] != key.section)
      sections.push_back({{"name", key.section},
                          {"documentation", section_documentation(key.section)},
                          {"keys", nlohmann::json::array()}});
    nlohmann::json entry = {{"name", key.name},
                            {"type", type_word(key.type)},
                            {"unit", key.unit},
                            {"expected", describe_expected(key)},
                            {"documentation", key.documentation}};
    std::visit([&](const auto& value) { entry["default"] = value; }, key.load(defaults));
    if (key.full_name() == "input.system") entry["default"] = nullptr;
    if (!key.allowed.empty()) entry["allowed"] = names_of_choice(key);
    if (!key.integers.empty()) entry["allowed"] = key.integers;
    if (key.range.minimum > -1e300) entry[key.range.is_open_below ? "above" : "minimum"] = key.range.minimum;
    if (key.range.maximum < any_count) entry["maximum"] = key.range.maximum;
    sections.back()["keys"].push_back(std::move(entry));
  }
  return {{"format", "tessera-schema"}, {"version", 1}, {"sections", std::move(sections)}};
}

}  // namespace tessera::app
