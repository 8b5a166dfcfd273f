// Where a system file is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace tessera::app {

/// Where a system is read from: a file, or a file's bytes in memory, which have a name for messages alone.
struct SystemSource {
  SystemSource(std::string path) : name(std::move(path)) {}  // a path will do
  SystemSource(std::string name_of_image, std::span<const std::byte> bytes)
      : name(std::move(name_of_image)), image(bytes) {}

  std::string name;
  std::span<const std::byte> image;  // empty: a file
};

}  // namespace tessera::app
