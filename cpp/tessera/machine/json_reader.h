// Reads members of a JSON object, with one clear message for each that is absent or of another type.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::machine {

// These tell which numbers of a map may be those of a machine. Sums, products and quotients of such numbers are finite,
// so that what is predicted and printed is, too. NaN is none of them.

/// Returns whether a number may be a rate in bytes a second; messages say "from 1e-6 to 1e18".
inline bool is_rate(double bytes_per_second) { return bytes_per_second >= 1e-6 && bytes_per_second <= 1e18; }
/// Returns whether a number may be the latency of a message without content, s; "from 0 to 1e6".
inline bool is_latency(double seconds) { return seconds >= 0 && seconds <= 1e6; }
/// Returns whether a number may be a time that was measured or predicted, s, or a ratio of such; "from 1e-15 to 1e15".
inline bool is_time(double seconds) { return seconds >= 1e-15 && seconds <= 1e15; }

/// Reads an object in a file and knows its place there, such as "map.json: network.subnets[2]".
class JsonReader {
 public:
  JsonReader(const nlohmann::json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("expected an object");
  }

  const std::string& where() const { return where_; }
  std::string where(const char* key) const { return where_ + (where_.ends_with(": ") ? "" : ".") + key; }

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

  const nlohmann::json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) throw InputError(fmt::format("{} is absent", where(key)));
    return *found;
  }

  const nlohmann::json& list(const char* key) const {
    const auto& value = at(key);
    if (!value.is_array()) throw InputError(fmt::format("{} is not a list", where(key)));
    return value;
  }

  template <class Value>
  Value get(const char* key) const {
    return convert<Value>(at(key), where(key));
  }

  template <class Value>
  Value get(const char* key, Value otherwise) const {
    return has(key) ? get<Value>(key) : otherwise;
  }

  template <class Value>
  static Value convert(const nlohmann::json& value, const std::string& where) {
    bool fits = false;
    const char* expected = "a number";
    if constexpr (std::is_same_v<Value, std::string>) {
      fits = value.is_string();
      expected = "text";
    } else if constexpr (std::is_integral_v<Value>) {
      fits = value.is_number_integer();
      expected = "a whole number";
    } else {
      fits = value.is_number();
    }
    if (!fits) throw InputError(fmt::format("{} is {}, expected {}", where, value.dump(), expected));
    return value.template get<Value>();
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    const auto text = json_.dump();
    throw InputError(fmt::format("{} is {}, {}", where_.ends_with(": ") ? where_ + "the file" : where_,
                                 text.size() > 40 ? text.substr(0, 40) + "…" : text, expected));
  }

  const nlohmann::json& json_;
  std::string where_;
};

}  // namespace tessera::machine
