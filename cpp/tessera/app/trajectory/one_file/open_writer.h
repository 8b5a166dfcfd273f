// Opens a file of frames for a new run or a restart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace tessera::app {

/// Begins a file, or goes on after its first `frames` frames where that is given and the file is there.
template <class Writer, class... Header>
Writer open_writer(const std::string& path, std::optional<std::int64_t> frames, const Header&... header) {
  std::error_code ignored;
  return frames && std::filesystem::exists(path, ignored) ? Writer::continue_after(path, *frames, header...)
                                                          : Writer::create(path, header...);
}

}  // namespace tessera::app
