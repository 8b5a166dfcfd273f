#include "tessera/io/npy.h"

#include <fmt/format.h>

#include <optional>

#include "tessera/base/files/atomic_file.h"
#include "tessera/comm/on_root.h"

namespace tessera::io {

namespace {

std::string header_of(std::int64_t n, std::int64_t columns) {
  std::string text = fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", n, columns);
  // The data start at a multiple of 64 bytes: magic (6), version (2), length (2), header, newline.
  text.resize((text.size() + 11 + 63) / 64 * 64 - 11, ' ');
  text += '\n';
  const char length[] = {static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(length, 2) + text;
}

}  // namespace

void write_npy(const comm::Communicator& comm, const std::string& path, std::span<const double> rows,
               std::int64_t first_row, std::int64_t n, std::int64_t columns) {
  std::optional<AtomicFile> file;  // on the root
  std::string temporary;
  on_root(comm, [&] {
    file.emplace(path);
    temporary = file->file().path();
  });
  comm::broadcast_resized(comm, temporary);
  on_each_rank(comm, [&] {
    const auto header = header_of(n, columns);
    const auto shared = Descriptor::open_to_change(temporary, path);
    if (comm.is_root()) shared.write_at(header.data(), header.size(), 0);
    const auto row_bytes = columns * static_cast<std::int64_t>(sizeof(double));
    shared.write_at(rows.data(), rows.size_bytes(), std::ssize(header) + first_row * row_bytes);
    shared.synchronize();
  });
  on_root(comm, [&] { file->commit(); });
}

}  // namespace tessera::io
