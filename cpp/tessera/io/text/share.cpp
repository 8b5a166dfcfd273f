#include "tessera/io/text/share.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/files/descriptor.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/text/lines.h"

namespace tessera::io::text {

namespace {

constexpr std::int64_t block = 65'536;

std::string read_range(const Descriptor& file, std::int64_t begin, std::int64_t end) {
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(0, end - begin)), '\0');
  text.resize(file.read_at(text.data(), text.size(), begin));
  return text;
}

/// Returns where a file ends but for blanks and empty lines.
std::int64_t end_of_text(const Descriptor& file) {
  auto end = file.size();
  while (end > 0) {
    const auto begin = std::max<std::int64_t>(0, end - block);
    const auto last = read_range(file, begin, end).find_last_not_of(" \t\r\n");
    if (last != std::string::npos) return begin + static_cast<std::int64_t>(last) + 1;
    end = begin;
  }
  return 0;
}

std::int64_t rounded_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

std::int64_t count_line_ends(const Descriptor& file, std::int64_t begin, std::int64_t end) {
  std::string piece;
  std::int64_t n = 0;
  for (auto at = begin; at < end; at += std::ssize(piece)) {
    piece.resize(static_cast<std::size_t>(std::min(block, end - at)));
    piece.resize(file.read_at(piece.data(), piece.size(), at));
    if (piece.empty()) break;
    for (auto found = piece.find('\n'); found != std::string::npos; found = piece.find('\n', found + 1)) ++n;
  }
  return n;
}

}  // namespace

ConfigShare read_config_share(const comm::Communicator& comm, const std::string& path) {
  ConfigShare share;
  std::string head;
  std::int64_t end = 0;
  comm::on_root(comm, [&] {
    const auto file = Descriptor::open_to_read(path);
    end = end_of_text(file);
    head = read_range(file, 0, std::min(block, file.size()));
  });
  comm::broadcast_resized(comm, head);
  comm.broadcast(std::as_writable_bytes(std::span(&end, 1)), 0);
  Lines lines(head, path);
  const auto n_expected = read_config_header(lines, share.config);  // the same error on all ranks
  const auto n_header = lines.number();
  const auto begin = static_cast<std::int64_t>(head.size() - lines.rest().size());
  const auto n_bytes = std::max<std::int64_t>(0, end - begin);

  // A line belongs to the share that has its first byte, so each share is read from the byte before it, which may be
  // the line end there.
  const auto bound = [&](std::int64_t rank) {
    return begin + n_bytes / comm.size() * rank + std::min<std::int64_t>(rank, n_bytes % comm.size());
  };
  const auto first_byte = bound(comm.rank()), end_byte = bound(comm.rank() + 1);
  std::optional<Descriptor> file;
  std::int64_t n_lines = 0;
  comm::on_each_rank(comm, [&] {
    file.emplace(Descriptor::open_to_read(path));
    n_lines = count_line_ends(*file, first_byte - 1, end_byte - 1);
  });
  std::vector<std::int64_t> counts(static_cast<std::size_t>(comm.size()));
  const std::vector<std::int64_t> sizes(counts.size(), sizeof n_lines);
  comm.all_gather(std::as_bytes(std::span(&n_lines, 1)), sizes, comm::writable_bytes_of(counts));
  const auto mine = counts.begin() + comm.rank();
  const auto first_line = std::accumulate(counts.begin(), mine, std::int64_t{0});
  const auto n_all_lines = std::accumulate(mine, counts.end(), first_line);

  const std::int64_t lines_of_atom = 2 + share.config.level;
  const auto start = rounded_up(first_line, lines_of_atom), stop = rounded_up(first_line + n_lines, lines_of_atom);
  share.first = start / lines_of_atom;
  share.n_all = rounded_up(n_all_lines, lines_of_atom) / lines_of_atom;
  comm::on_each_rank(comm, [&] {
    const auto n_atoms = (stop - start) / lines_of_atom;
    if (n_atoms == 0) return;
    Lines atoms(*file, first_byte - 1, end, n_header + first_line - 1);
    for (auto line = first_line - 1; line < start; ++line) atoms.next("the lines of an atom");
    read_config_atoms(atoms, share.first, n_atoms, share.config);
  });
  comm::on_each_rank(comm, [&] { check_config_atoms(n_expected, share.n_all, path); });
  return share;
}

}  // namespace tessera::io::text
