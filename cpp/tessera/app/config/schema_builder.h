// How the rows of a schema are written:
//
//   auto pme = add_section(schema, "pme", "what it is about", &RunConfig::pme);
//   pme.key("alpha", &PmeConfig::alpha, "splitting parameter").unit("1/Å").range(0, 10).decides_bits();
//
// A repeated section is bound to a std::vector of records. The configuration may be of a class derived from RunConfig:
// then the schema serves objects of that class alone.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/app/config/schema.h"
#include "tessera/base/error.h"

namespace tessera::app {

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

/// Completes the key that was added last.
class KeyBuilder {
 public:
  explicit KeyBuilder(Key& key) : key_(key) {}

  KeyBuilder unit(const char* unit) { return key_.unit = unit, *this; }
  KeyBuilder range(double minimum, double maximum) { return key_.bounds = {minimum, maximum, false}, *this; }
  KeyBuilder above(double minimum, double maximum) { return key_.bounds = {minimum, maximum, true}, *this; }
  KeyBuilder one_of(std::vector<std::int64_t> values) { return key_.integers = std::move(values), *this; }
  KeyBuilder one_of(std::vector<std::string> names) { return key_.allowed = std::move(names), *this; }
  KeyBuilder path() { return key_.is_path = true, *this; }
  KeyBuilder path_or_none() { return key_.is_path = key_.may_be_empty = true, *this; }
  /// Lets the key take a selection of atoms, or a list of them; "" selects none.
  KeyBuilder selects_atoms() { return key_.selects_atoms = true, *this; }
  /// Leaves the key without a default.
  KeyBuilder must_be_given(const char* example) { return key_.example = example, *this; }
  KeyBuilder decides_bits() { return key_.decides = Decides::bits, *this; }
  KeyBuilder decides_start() { return key_.decides = Decides::start, *this; }
  /// Decides bits under a condition, whatever it decides otherwise.
  KeyBuilder decides_bits_where(std::function<bool(const RunConfig&)> condition) {
    return key_.decides_bits_where = std::move(condition), *this;
  }
  KeyBuilder used_where(std::function<bool(const RunConfig&)> condition) {
    return key_.has_effect = std::move(condition), *this;
  }

  /// Converts between fs, which files hold, and ps, which the configuration holds.
  KeyBuilder femtoseconds() {
    key_.unit = "fs";
    key_.store_in = [store = key_.store_in](RunConfig& config, std::size_t row, const Value& value) {
      store(config, row, std::get<double>(value) / 1000.0);
    };
    // Fifteen digits bring back what was written.
    const auto to_file = [](double ps) { return std::stod(fmt::format("{:.15g}", ps * 1000.0)); };
    key_.load_from = [to_file, load = key_.load_from](const RunConfig& config, std::size_t row) -> Value {
      return to_file(std::get<double>(load(config, row)));
    };
    key_.default_value = to_file(std::get<double>(key_.default_value));
    return *this;
  }

 private:
  Key& key_;
};

/// Adds keys to one section. `Access` finds the record in a configuration.
template <class Record, class Access>
class SectionBuilder {
 public:
  SectionBuilder(Schema& schema, std::size_t section, Access access)
      : schema_(schema), section_(section), access_(access) {}

  /// Adds a bool, integer, real, text, list of integers or of texts, schedule or choice; "auto" too where the member is
  /// optional.
  template <class Field, class Owner>  // the record, or a base of it
  KeyBuilder key(const char* name, Field Owner::*field, std::string documentation) {
    using Type = Held<Field>;
    auto& section = schema_.sections[section_];
    Key key;
    key.section = section.name;
    key.name = name;
    key.documentation = std::move(documentation);
    key.may_be_auto = !std::is_same_v<Field, Type>;
    if constexpr (std::is_same_v<Type, bool>)
      key.type = ValueType::boolean;
    else if constexpr (std::is_same_v<Type, std::int64_t>)
      key.type = ValueType::integer;
    else if constexpr (std::is_same_v<Type, double>)
      key.type = ValueType::real;
    else if constexpr (std::is_same_v<Type, std::vector<std::int64_t>>)
      key.type = ValueType::integers;
    else if constexpr (std::is_same_v<Type, std::vector<std::string>>)
      key.type = ValueType::texts;
    else if constexpr (std::is_same_v<Type, TimeSchedule>)
      key.type = ValueType::schedule;
    else
      key.type = ValueType::text;
    if constexpr (std::is_enum_v<Type>) {
      const auto& names = names_of(Type());
      key.allowed.assign(names.begin(), names.end());
    }
    key.store_in = [access = access_, field](RunConfig& config, std::size_t row, const Value& value) {
      auto& member = access(config, row).*field;
      if constexpr (!std::is_same_v<Field, Type>) {
        if (is_auto(value)) return member.reset();
      }
      member = from_value<Type>(value);
    };
    key.load_from = [access = access_, field](const RunConfig& config, std::size_t row) {
      return to_value(access(config, row).*field);
    };
    key.default_value = to_value(Record().*field);
    section.keys.push_back(std::move(key));
    return KeyBuilder(section.keys.back());
  }

 private:
  template <class Type>
  static Type from_value(const Value& value) {
    if constexpr (std::is_enum_v<Type>) {
      const auto& names = names_of(Type());
      const auto found = std::find(names.begin(), names.end(), std::get<std::string>(value));
      TESSERA_CHECK(found != names.end());
      return static_cast<Type>(found - names.begin());
    } else if constexpr (std::is_same_v<Type, TimeSchedule>) {
      if (const auto* number = std::get_if<double>(&value)) return *number;
      return TimeSchedule(std::get<std::vector<TimeSchedule::Point>>(value));
    } else {
      return std::get<Type>(value);
    }
  }
  template <class Field>
  static Value to_value(const Field& member) {
    if constexpr (std::is_enum_v<Field>)
      return std::string(names_of(Field()).at(static_cast<std::size_t>(member)));
    else if constexpr (std::is_same_v<Field, TimeSchedule>)
      return member.is_constant() ? Value(member.points().front()[1]) : Value(member.points());
    else if constexpr (!std::is_same_v<Field, Held<Field>>)
      return member ? to_value(*member) : Value(std::string("auto"));
    else
      return member;
  }

  Schema& schema_;
  std::size_t section_;
  Access access_;
};

/// Adds the section [name].
template <class Config, class Record>
auto add_section(Schema& schema, const char* name, const char* documentation, Record Config::*member) {
  schema.sections.push_back({name, documentation, {}, {}, {}, {}});
  const auto access = [member]<class Any>(Any & config, std::size_t) -> auto& {
    using Derived = std::conditional_t<std::is_const_v<Any>, const Config, Config>;
    return static_cast<Derived&>(config).*member;
  };
  return SectionBuilder<Record, decltype(access)>(schema, schema.sections.size() - 1, access);
}

/// Adds the section [[name]]; `owner` finds the record of which `member` is one.
template <class Owner, class Record, class Find>
auto add_repeated_section(Schema& schema, const char* name, const char* documentation,
                          std::vector<Record> Owner::*member, Find owner) {
  schema.sections.push_back({name,
                             documentation,
                             {},
                             [=](const RunConfig& config) { return (owner(config).*member).size(); },
                             [=](RunConfig& config) { (owner(config).*member).emplace_back(); },
                             [=](RunConfig& config) { (owner(config).*member).clear(); }});
  const auto access = [=](auto& config, std::size_t row) -> auto& { return (owner(config).*member).at(row); };
  return SectionBuilder<Record, decltype(access)>(schema, schema.sections.size() - 1, access);
}

template <class Config, class Record>
auto add_repeated_section(Schema& schema, const char* name, const char* documentation,
                          std::vector<Record> Config::*member) {
  return add_repeated_section(
      schema, name, documentation, member, []<class Any>(Any & config) -> auto& {
        return static_cast<std::conditional_t<std::is_const_v<Any>, const Config&, Config&>>(config);
      });
}

}  // namespace tessera::app
