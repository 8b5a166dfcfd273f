#include "tessera/io/text/config.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <system_error>

#include "tessera/base/descriptor.h"
#include "tessera/base/error.h"

namespace tessera::io::text {

namespace {

/// Lines of a text, and words of a line.
class Lines {
 public:
  Lines(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  bool is_at_end() const { return rest_.find_first_not_of(" \t\r\n") == std::string_view::npos; }

  std::string_view next(const char* expected) {
    if (rest_.empty()) throw InputError(fmt::format("{}: ends after line {}, expected {}", name_, number_, expected));
    const auto end = rest_.find('\n');
    auto line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    words_ = line;
    return line;
  }

  /// The next word of the line; empty at its end.
  std::string_view word() {
    const auto begin = words_.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
      words_ = {};
      return {};
    }
    words_.remove_prefix(begin);
    const auto found = words_.substr(0, words_.find_first_of(" \t"));
    words_.remove_prefix(found.size());
    return found;
  }

  template <class Value>
  Value number(std::string_view text, const char* expected) const {
    Value value{};
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      throw InputError(fmt::format("{}: line {} has {}, expected {}", name_, number_,
                                   text.empty() ? "nothing more" : fmt::format("\"{}\"", text), expected));
    return value;
  }

  void three(double* values, const char* expected) {
    next(expected);
    for (int k = 0; k < 3; ++k) values[k] = number<double>(word(), expected);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(fmt::format("{}: line {}: {}", name_, number_, what));
  }

 private:
  std::string_view rest_, words_;
  const std::string& name_;
  std::int64_t number_ = 0;
};

}  // namespace

Config config_from_text(std::string_view text, const std::string& name) {
  Config config;
  Lines lines(text, name);
  config.title = lines.next("a title");
  config.title.erase(config.title.find_last_not_of(' ') + 1);
  constexpr auto keys = "the keys levcfg and imcon, and perhaps the number of atoms, a step, a time step and a time";
  lines.next(keys);
  config.level = lines.number<int>(lines.word(), keys);
  config.periodicity = lines.number<int>(lines.word(), keys);
  if (config.level < 0 || config.level > 2) lines.refuse(fmt::format("levcfg is {}, expected 0 to 2", config.level));
  std::optional<std::int64_t> n_atoms;
  if (const auto word = lines.word(); !word.empty()) n_atoms = lines.number<std::int64_t>(word, "a number of atoms");
  if (const auto word = lines.word(); !word.empty()) {
    Moment moment{lines.number<std::int64_t>(word, "a step"), 0, 0};
    moment.timestep = lines.number<double>(lines.word(), "a time step");
    moment.time = lines.number<double>(lines.word(), "a time");
    config.moment = moment;
  }
  if (config.periodicity != 0)
    for (std::size_t i = 0; i < 9; i += 3) lines.three(config.cell.data() + i, "a vector of the cell");
  const auto n_values = 3 * (static_cast<std::size_t>(config.level) + 1);
  while (!lines.is_at_end()) {
    lines.next("the name of an atom");
    const auto word = lines.word();
    if (word.empty()) lines.refuse("is empty, expected the name of an atom");
    if (word.size() > 8) lines.refuse(fmt::format("\"{}\" has more than the eight characters of a name", word));
    config.names.push_back(name_of(word));
    const auto number = lines.word();
    config.ids.push_back(number.empty() ? config.n_atoms() + 1
                                        : lines.number<std::int64_t>(number, "an atom's number"));
    const auto at = config.values.size();
    config.values.resize(at + n_values);
    for (std::size_t k = 0; k < n_values; k += 3)
      lines.three(config.values.data() + at + k, k == 0 ? "a position" : k == 3 ? "a velocity" : "a force");
  }
  if (n_atoms && *n_atoms != config.n_atoms())
    throw InputError(
        fmt::format("{}: has {} atoms, but its second line says {}; is it cut off?", name, config.n_atoms(), *n_atoms));
  return config;
}

Config read_config(const std::string& path) {
  return config_from_text(Descriptor::open_to_read(path).read_all(), path);
}

std::string config_text(const Config& config) {
  auto text =
      config_header(config.title, config.level, config.periodicity, config.n_atoms(), config.moment, config.cell);
  const auto n_values = static_cast<std::size_t>(config.level) + 1;
  auto at = text.size();
  text.resize(at + config.ids.size() * (1 + n_values) * record_bytes);
  for (std::size_t i = 0; i < config.ids.size(); ++i) {
    write_name_record(config.names[i], config.ids[i], text.data() + at);
    at += record_bytes;
    for (std::size_t k = 0; k < n_values; ++k, at += record_bytes)
      write_value_record(config.values.data() + 3 * (i * n_values + k), text.data() + at);
  }
  return text;
}

}  // namespace tessera::io::text
