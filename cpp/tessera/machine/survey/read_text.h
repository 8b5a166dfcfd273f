// Reads a whole file as text.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tessera/base/error.h"

namespace tessera::machine {

/// Throws InputError if the file can't be read.
inline std::string read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream file;
  if (std::filesystem::is_regular_file(path, ignored)) file.open(path, std::ios::binary);  // a pipe may never end
  if (!file.is_open()) throw InputError(fmt::format("{}: can't be read; is it there, and a file?", path.string()));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tessera::machine
