#include "tessera/io/text/config.h"

#include <fmt/format.h>

#include <cstddef>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/io/text/lines.h"

namespace tessera::io::text {

namespace {

/// Reads the values of one atom, whose place in the file is `place`.
void read_atom(Lines& lines, std::int64_t place, Config& config) {
  lines.next("the name of an atom");
  const auto word = lines.word();
  if (word.empty()) lines.refuse("is empty, expected the name of an atom");
  if (word.size() > 8) lines.refuse(fmt::format("\"{}\" has more than the eight characters of a name", word));
  config.names.push_back(name_of(word));
  config.ids.push_back(lines.number_if_any<std::int64_t>("an atom's number").value_or(place + 1));
  const auto n_values = 3 * (static_cast<std::size_t>(config.level) + 1);
  const auto at = config.values.size();
  config.values.resize(at + n_values);
  for (std::size_t k = 0; k < n_values; k += 3)
    lines.three(config.values.data() + at + k, k == 0 ? "a position" : k == 3 ? "a velocity" : "a force");
}

void reserve(std::int64_t n, Config& config) {
  config.names.reserve(static_cast<std::size_t>(n));
  config.ids.reserve(static_cast<std::size_t>(n));
  config.values.reserve(static_cast<std::size_t>(3 * n * (config.level + 1)));
}

}  // namespace

std::optional<std::int64_t> read_config_header(Lines& lines, Config& config) {
  config.title = lines.next("a title");
  config.title.erase(config.title.find_last_not_of(' ') + 1);
  constexpr auto keys = "the keys levcfg and imcon, and perhaps the number of atoms, a step, a time step and a time";
  lines.next(keys);
  lines.leave_out_comment();
  config.level = lines.number<int>(keys);
  config.periodicity = lines.number<int>(keys);
  if (config.level < 0 || config.level > 2) lines.refuse(fmt::format("levcfg is {}, expected 0 to 2", config.level));
  // What follows need not be there: programs write 0 for the number of atoms, or an energy behind it.
  const auto n_atoms = lines.number_if_it_is<std::int64_t>();
  const auto step = lines.number_if_it_is<std::int64_t>();
  const auto timestep = lines.number_if_it_is<double>(), time = lines.number_if_it_is<double>();
  if (step && timestep && time) config.moment = Moment{*step, *timestep, *time};
  if (config.periodicity != 0)
    for (std::size_t i = 0; i < 9; i += 3) lines.three(config.cell.data() + i, "a vector of the cell");
  return n_atoms > 0 ? n_atoms : std::nullopt;
}

void read_config_atoms(Lines& lines, std::int64_t first, std::int64_t n, Config& config) {
  reserve(n, config);
  for (std::int64_t i = 0; i < n; ++i) read_atom(lines, first + i, config);
}

void check_config_atoms(std::optional<std::int64_t> expected, std::int64_t found, const std::string& name) {
  if (expected && *expected != found)
    throw InputError(
        fmt::format("{}: has {} atoms, but its second line says {}; is it cut off?", name, found, *expected));
}

namespace {

Config config_of(Lines& lines, std::int64_t n_bytes, const std::string& name) {
  constexpr std::int64_t least_bytes = 8;  // of an atom: "A\n0 0 0\n"
  Config config;
  const auto n_atoms = read_config_header(lines, config);
  if (n_atoms && *n_atoms <= n_bytes / least_bytes) reserve(*n_atoms, config);
  while (!lines.is_at_end()) read_atom(lines, config.n_atoms(), config);
  check_config_atoms(n_atoms, config.n_atoms(), name);
  return config;
}

}  // namespace

Config config_from_text(std::string_view text, const std::string& name) {
  Lines lines(text, name);
  return config_of(lines, std::ssize(text), name);
}

Config read_config(const std::string& path) {
  const auto file = Descriptor::open_to_read(path);
  Lines lines(file, 0, file.size());
  return config_of(lines, file.size(), path);
}

}  // namespace tessera::io::text
