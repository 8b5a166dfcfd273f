#include "tessera/app/select/selections.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/checksum.h"

namespace tessera::app {

namespace {

constexpr const char* format = "tessera-selections";
constexpr int version = 1;

using Ranges = std::vector<model::AtomSet::Range>;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Reads a range, "4" or "0:99".
std::optional<model::AtomSet::Range> range_of(std::string_view word) {
  const auto colon = word.find(':');
  const auto first = whole_number(word.substr(0, colon));
  const auto last = colon == std::string_view::npos ? first : whole_number(word.substr(colon + 1));
  if (!first || !last) return std::nullopt;
  return model::AtomSet::Range{*first, *last};
}

/// Reads the ranges of `index` (which counts from 0) and `bynum` (from 1) by id, those of `all`; nothing where the text
/// is another selection.
std::optional<Ranges> plain_ranges(std::string_view text, std::int64_t n_atoms) {
  std::istringstream words{std::string(text)};
  std::string word;
  words >> word;
  if (word == "all") return words >> word ? std::nullopt : std::optional(Ranges{{0, n_atoms - 1}});
  if (word != "index" && word != "bynum") return std::nullopt;
  const std::int64_t base = word == "bynum" ? 1 : 0;
  Ranges ranges;
  while (words >> word) {
    const auto range = range_of(word);
    if (!range) return std::nullopt;
    ranges.push_back({range->first - base, range->last - base});
  }
  if (ranges.empty()) return std::nullopt;
  return ranges;
}

/// Returns JSON in which bytes that are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string quoted(const std::string& key, const std::string& text) {
  return fmt::format("{} = {}", key, json_text(text));
}

}  // namespace

std::string read_selections_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) throw InputError(fmt::format("{}: this file of selections can't be read; check the path", path));
  return text.str();
}

Selections Selections::parse(std::string_view text, const std::string& name) {
  Selections selections;
  selections.name_ = name;
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.at("format") != format || json.at("version") != version)
      throw InputError(fmt::format("{}: is no file of selections of version {}", name, version));
    selections.n_atoms_ = json.at("atoms");
    for (const auto& [selection, pairs] : json.at("selections").items()) {
      Ranges ranges;
      for (const auto& [first, last] : pairs.get<std::vector<std::array<std::int64_t, 2>>>())
        ranges.push_back({first, last});
      selections.by_text_.emplace(selection, model::AtomSet(std::move(ranges)));
    }
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{}: is no file of selections, or is damaged; start the run with tessera run", name));
  }
  return selections;
}

bool Selections::is_plain(std::string_view text) { return plain_ranges(text, 0).has_value(); }

model::AtomSet Selections::find(const std::string& text, const std::string& key, std::int64_t n_atoms) const {
  model::AtomSet atoms;
  if (const auto plain = plain_ranges(text, n_atoms)) {
    atoms = model::AtomSet(*plain);
  } else {
    const auto found = by_text_.find(text);
    if (found == by_text_.end())
      throw InputError(
          fmt::format("{}: the engine alone understands \"all\", \"index 0:99 120\" (ids, from 0) and \"bynum 1:100\" "
                      "(from 1); start the run with tessera run, which resolves the selections of MDAnalysis",
                      quoted(key, text)));
    if (n_atoms_ != n_atoms)
      throw InputError(fmt::format("{} is of a system of {} atoms, this one has {}: start the run with tessera run",
                                   name_, n_atoms_, n_atoms));
    atoms = found->second;
  }
  if (atoms.empty()) throw InputError(fmt::format("{}: selects no atom", quoted(key, text)));
  for (const auto id : {atoms.ranges().front().first, atoms.ranges().back().last})
    if (id < 0 || id >= n_atoms)
      throw InputError(fmt::format("{}: there is no atom of id {}; the {} atoms have the ids 0 to {}",
                                   quoted(key, text), id, n_atoms, n_atoms - 1));
  return atoms;
}

std::string Selections::text() const {
  auto selections = nlohmann::json::object();
  for (const auto& [text, atoms] : by_text_) {
    auto ranges = nlohmann::json::array();
    for (const auto& range : atoms.ranges()) ranges.push_back({range.first, range.last});
    selections[text] = std::move(ranges);
  }
  return json_text({{"format", format}, {"version", version}, {"atoms", n_atoms_}, {"selections", selections}}) + "\n";
}

std::map<std::string, std::string> Selections::checksums() const {
  std::map<std::string, std::string> sums;
  for (const auto& [text, atoms] : by_text_)
    sums[text] = io::Checksum().add(std::as_bytes(std::span(atoms.ranges()))).finish().substr(0, 16);
  return sums;
}

}  // namespace tessera::app
