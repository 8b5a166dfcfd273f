#include "tessera/io/text/share.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/descriptor.h"
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

/// Where a file ends but for blanks and empty lines.
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

/// Returns where the line begins that stands n lines after the beginning of the text; its end where there is none.
std::size_t place_of_line(std::string_view text, std::int64_t n) {
  std::size_t at = 0;
  for (; n > 0; --n) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return text.size();
    ++at;
  }
  return at;
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
  std::string text;
  std::int64_t n_lines = 0;
  comm::on_each_rank(comm, [&] {
    file.emplace(Descriptor::open_to_read(path));
    if (first_byte == end_byte) return;
    text = read_range(*file, first_byte - 1, end_byte);
    for (auto at = text.find('\n'); at < text.size() - 1; at = text.find('\n', at + 1)) ++n_lines;
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
    const auto at = place_of_line(text, start - first_line + 1);
    // The rest of the last atom.
    auto read_to = end_byte;
    for (auto missing = stop - (first_line + n_lines) + 1; missing > 0 && read_to < end;) {
      const auto more = read_range(*file, read_to, std::min(end, read_to + block));
      if (more.empty()) break;
      missing -= std::count(more.begin(), more.end(), '\n');
      text += more;
      read_to += std::ssize(more);
    }
    Lines atoms(std::string_view(text).substr(at), path, n_header + start);
    read_config_atoms(atoms, share.first, n_atoms, share.config);
  });
  comm::on_each_rank(comm, [&] { check_config_atoms(n_expected, share.n_all, path); });
  return share;
}

}  // namespace tessera::io::text
