// DL_POLY's CONFIG and REVCON: one configuration as text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/io/text/records.h"

namespace tessera::io::text {

struct Config {
  std::string title;
  int level = 0;        // 0: positions; 1: velocities, too; 2: forces, too
  int periodicity = 0;  // DL_POLY's imcon; 0: no cell
  std::optional<Moment> moment;
  std::array<double, 9> cell{};   // (3,3) Å, a vector a row
  std::vector<Name> names;        // (n)
  std::vector<std::int64_t> ids;  // (n)
  std::vector<double> values;     // (n, level + 1, 3): Å, Å/ps, amu Å/ps²

  std::int64_t n_atoms() const { return static_cast<std::int64_t>(ids.size()); }
};

class Lines;

/// Reads a configuration in DL_POLY's free format: words apart by blanks, whatever their columns. Numbers of atoms that
/// are absent count from 1. Throws InputError with the line, what was found and what was expected; `name` stands for
/// the file.
Config config_from_text(std::string_view text, const std::string& name);
Config read_config(const std::string& path);

/// Reads the lines before the atoms. Returns the number of atoms, if they say one.
std::optional<std::int64_t> read_config_header(Lines& lines, Config& config);
/// Appends n atoms, the first of which stands at the place `first` of the file.
void read_config_atoms(Lines& lines, std::int64_t first, std::int64_t n, Config& config);
/// Throws InputError where a file has not the atoms that its header says.
void check_config_atoms(std::optional<std::int64_t> expected, std::int64_t found, const std::string& name);

}  // namespace tessera::io::text
