#include "tessera/io/npy.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "tessera/base/atomic_file.h"

namespace tessera::io {

void write_npy(const std::string& path, std::span<const double> values, const std::vector<std::int64_t>& shape) {
  std::string header =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", fmt::join(shape, ", "));
  // The data start at a multiple of 64 bytes: magic (6), version (2), length (2), header, newline.
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::vector<std::byte> content(10 + header.size() + values.size_bytes());
  const auto length = static_cast<std::uint16_t>(header.size());
  std::memcpy(content.data(), "\x93NUMPY\x01\x00", 8);
  std::memcpy(content.data() + 8, &length, 2);
  std::memcpy(content.data() + 10, header.data(), header.size());
  std::memcpy(content.data() + 10 + header.size(), values.data(), values.size_bytes());
  write_atomically(path, content);
}

}  // namespace tessera::io
