// Files of which every byte has a checksum (docs/reference/checked_file.md): a header, a content of regions in pieces,
// and a table with the XXH3 of each piece. A reader looks only at bytes whose checksum is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/files/descriptor.h"

namespace tessera::io {

constexpr std::int64_t checked_header_bytes = 512;
constexpr std::int64_t piece_bytes = 768 * 1024;  // holds whole rows of 4, 8, 12 and 24 bytes

/// A part of a checked file, from byte `begin` to `end`. Of a bulk array readers take the rows that they need.
struct Region {
  std::int64_t begin, end;
  bool is_bulk;

  std::int64_t n_pieces() const { return (end - begin + piece_bytes - 1) / piece_bytes; }
  /// Returns from which to which byte of the file piece `index` of this region is.
  std::pair<std::int64_t, std::int64_t> piece(std::int64_t index) const;
};

/// Returns the bytes of a table of so many checksums.
std::int64_t table_bytes(std::int64_t n_pieces);

/// Returns the checksum of a piece: XXH3, 64 bits, seed 0.
std::uint64_t piece_checksum(std::span<const std::byte> piece);

/// Writes the table behind byte `end`, where the content ends, and then the header, which makes the file valid.
/// `table`: the checksums of all pieces of the first region, then those of the second, and so on. Throws RunError.
void write_checksums(const Descriptor& file, const std::vector<Region>& regions, std::int64_t end,
                     std::span<const std::uint64_t> table);

/// A checked file, open for reading. Everything throws InputError that says which bytes are not what was written, and
/// how to mend it.
class CheckedFile {
 public:
  /// Returns whether a file begins as checked files do; false where it can't be read.
  static bool is_one(const std::string& path);
  static bool is_one(std::span<const std::byte> image);
  /// Opens a file, or the bytes of one, that begins as checked files do, and checks all but its bulk arrays; nothing
  /// where it begins otherwise.
  static std::optional<CheckedFile> find(const std::string& path);
  static std::optional<CheckedFile> find(const std::string& name, std::span<const std::byte> image);
  /// Checks the header and the file's size.
  static CheckedFile open(const std::string& path);
  /// Opens the bytes of a file in memory, which outlive this; messages call it `name`.
  static CheckedFile open_image(std::string name, std::span<const std::byte> image);

  const std::vector<Region>& regions() const { return regions_; }
  /// Returns whether this byte is in a bulk array.
  bool is_bulk(std::int64_t byte) const;
  /// Returns the checksums of all pieces, which identify the content.
  std::vector<std::uint64_t> table() const { return checksums(0, n_pieces_); }
  /// Checks what a reader parses before it reads rows.
  void check_all_but_bulk() const;
  /// From and to which byte of the file; in one region.
  struct Range {
    std::int64_t begin, end;
  };
  /// Gives what a range holds, some after some: the index of the range, how many bytes of it came before, and bytes.
  using Take = std::function<void(std::size_t range, std::int64_t done, std::span<const std::byte>)>;
  /// Reads ranges in this order, and checks the pieces that they are in. While some are taken, a helper thread reads
  /// and checks the next, by direct I/O where they are not in the system's memory.
  void read(std::span<const Range> ranges, const Take& take) const;
  /// Reads bytes of one region, as above.
  void read(std::int64_t begin, std::span<std::byte> bytes) const;

 private:
  CheckedFile(std::string name, std::optional<Descriptor> file, std::span<const std::byte> image);

  std::vector<std::byte> bytes(std::int64_t begin, std::int64_t end) const;
  /// Fills the span, and returns how many bytes there are.
  std::size_t fill(std::int64_t begin, std::span<std::byte> to) const;
  /// Returns the entries from `first` on of the table, checked.
  std::vector<std::uint64_t> checksums(std::int64_t first, std::int64_t count) const;
  /// Of a piece, what is wanted of it for a range.
  struct Wanted {
    std::size_t range;
    std::int64_t piece_begin, piece_end, begin, end;
    std::uint64_t sum;
  };
  std::vector<Wanted> wanted_of(std::span<const Range> ranges) const;
  class Batches;  // of pieces that are read at once
  void check_piece(std::int64_t begin, std::span<const std::byte> piece, std::uint64_t sum) const;
  [[noreturn]] void refuse(const std::string& what) const;

  std::string name_;
  std::optional<Descriptor> file_;
  std::span<const std::byte> image_;
  std::int64_t size_ = 0, end_ = 0, n_pieces_ = 0;
  std::vector<Region> regions_;
  std::vector<std::int64_t> first_piece_;  // of each region, among all
  std::vector<std::uint64_t> runs_;        // checksums of the parts of the table
};

}  // namespace tessera::io
