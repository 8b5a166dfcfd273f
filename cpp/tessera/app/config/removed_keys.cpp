#include "tessera/app/config/removed_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tessera/md/pair/cluster_sum.h"

namespace tessera::app {

namespace {

struct RemovedKey {
  std::string_view name;
  std::array<std::string_view, 2> ignored;  // values that say what runs do anyway
  std::string_view reason;                  // why there is no other
};

constexpr RemovedKey keys[] = {
    {"interactions.pair_function", {"auto", "analytic"}, "forces follow from formulas, not from a table in 1/r²"},
    {"interactions.table_density", {"100.0", "100"}, "forces follow from formulas, not from a table in 1/r²"},
    {"parallel.pair_scheme",
     {"auto", ""},
     "the way of summing pairs follows from parallel.precision, which may be \"mixed\" or \"double\""},
};

const RemovedKey* find(std::string_view name) {
  const auto* found = std::find_if(std::begin(keys), std::end(keys), [&](const auto& key) { return key.name == name; });
  return found == std::end(keys) ? nullptr : found;
}

bool is_ignored(const RemovedKey& key, const std::string& value, Precision precision) {
  const bool is_scheme = key.name == "parallel.pair_scheme" && value == md::pair::scheme_name(precision);
  return is_scheme || (!value.empty() && std::find(key.ignored.begin(), key.ignored.end(), value) != key.ignored.end());
}

}  // namespace

bool is_removed(std::string_view full_name) { return find(full_name) != nullptr; }

void check_removed(const RunConfig& config, Errors& errors) {
  for (const auto& [name, setting] : config.removed)
    if (const auto* key = find(name); !is_ignored(*key, setting.value, config.parallel.precision))
      errors.add(setting.place, fmt::format("{} = {}: this key has been removed, as {}; leave it out", name,
                                            setting.value, key->reason));
}

std::set<std::string> notes_of_removed(const RunConfig& config) {
  std::set<std::string> notes;
  for (const auto& [name, setting] : config.removed)
    notes.insert(fmt::format("{}: {} = {} is ignored: this key has been removed, as {}; leave it out", setting.place,
                             name, setting.value, find(name)->reason));
  return notes;
}

std::string describe_removed(const nlohmann::json& settings) {
  const auto& in_double = names_of(Precision::double_precision)[static_cast<std::size_t>(Precision::double_precision)];
  const auto precision =
      settings.value("parallel.precision", "") == in_double ? Precision::double_precision : Precision::mixed;
  std::string text;
  for (const auto& key : keys) {
    const auto found = settings.find(key.name);
    if (found == settings.end()) continue;
    const auto value = found->is_string() ? found->get<std::string>() : found->dump();
    if (is_ignored(key, value, precision)) continue;
    text += fmt::format("{}{} was {}, which has been removed, as {}", text.empty() ? "" : "; ", key.name, value,
                        key.reason);
  }
  return text;
}

}  // namespace tessera::app
