#include "tessera/io/checked_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <semaphore>
#include <string_view>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/io/large_pages.h"

namespace tessera::io {
namespace {

static_assert(std::endian::native == std::endian::little, "checked files are little-endian");

constexpr std::string_view magic = "tessera checked file 1\n";
constexpr std::size_t magic_bytes = 32;
constexpr std::size_t most_regions = 24;
constexpr std::int64_t run = 4096;  // entries of the table that have a checksum together
constexpr std::uint64_t bulk_bit = std::uint64_t{1} << 63;

/// The first 512 bytes, as they are in the file.
struct Header {
  std::array<char, magic_bytes> magic;
  std::uint64_t end;               // of the content
  std::uint64_t checksum_of_runs;  // of the checksums of the table
  std::uint64_t n_regions;
  struct {
    std::uint64_t begin, bytes;  // the greatest bit of `bytes` is set in bulk arrays
  } regions[most_regions];
  std::array<std::byte, checked_header_bytes - 8 - magic_bytes - 24 - 16 * most_regions> zeros;
  std::uint64_t checksum;  // of all before
};
static_assert(sizeof(Header) == checked_header_bytes);

std::uint64_t checksum_of(const Header& header) {
  return piece_checksum(std::as_bytes(std::span(&header, 1)).first(sizeof(Header) - sizeof header.checksum));
}

std::vector<std::uint64_t> checksums_of_runs(std::span<const std::uint64_t> table) {
  std::vector<std::uint64_t> sums;
  for (std::size_t at = 0; at < table.size(); at += run)
    sums.push_back(piece_checksum(std::as_bytes(table.subspan(at, std::min<std::size_t>(run, table.size() - at)))));
  return sums;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> Region::piece(std::int64_t index) const {
  const auto first = begin + index * piece_bytes;
  return {first, std::min(first + piece_bytes, end)};
}

std::int64_t table_bytes(std::int64_t n_pieces) { return 8 * (n_pieces + (n_pieces + run - 1) / run); }

std::uint64_t piece_checksum(std::span<const std::byte> piece) { return XXH3_64bits(piece.data(), piece.size()); }

void write_checksums(const Descriptor& file, const std::vector<Region>& regions, std::int64_t end,
                     std::span<const std::uint64_t> table) {
  TESSERA_CHECK(regions.size() <= most_regions);
  const auto runs = checksums_of_runs(table);
  Header header{};
  std::copy(magic.begin(), magic.end(), header.magic.begin());
  header.end = static_cast<std::uint64_t>(end);
  header.checksum_of_runs = piece_checksum(std::as_bytes(std::span(runs)));
  header.n_regions = regions.size();
  for (std::size_t i = 0; i < regions.size(); ++i)
    header.regions[i] = {
        static_cast<std::uint64_t>(regions[i].begin),
        static_cast<std::uint64_t>(regions[i].end - regions[i].begin) | (regions[i].is_bulk ? bulk_bit : 0)};
  header.checksum = checksum_of(header);
  file.write_at(table.data(), table.size_bytes(), end);
  const auto end_of_table = end + static_cast<std::int64_t>(table.size_bytes());
  file.write_at(runs.data(), 8 * runs.size(), end_of_table);
  file.truncate(end_of_table + 8 * std::ssize(runs));
  file.write_at(&header, sizeof header, 0);
}

bool CheckedFile::is_one(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(magic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file && start == magic;
}

bool CheckedFile::is_one(std::span<const std::byte> image) {
  return image.size() >= magic.size() && std::memcmp(image.data(), magic.data(), magic.size()) == 0;
}

std::optional<CheckedFile> CheckedFile::find(const std::string& path) {
  if (!is_one(path)) return std::nullopt;
  auto file = open(path);
  file.check_all_but_bulk();
  return file;
}

std::optional<CheckedFile> CheckedFile::find(const std::string& name, std::span<const std::byte> image) {
  if (!is_one(image)) return std::nullopt;
  auto file = open_image(name, image);
  file.check_all_but_bulk();
  return file;
}

CheckedFile CheckedFile::open(const std::string& path) { return {path, Descriptor::open_to_read(path), {}}; }

CheckedFile CheckedFile::open_image(std::string name, std::span<const std::byte> image) {
  return {std::move(name), std::nullopt, image};
}

CheckedFile::CheckedFile(std::string name, std::optional<Descriptor> file, std::span<const std::byte> image)
    : name_(std::move(name)), file_(std::move(file)), image_(image), size_(file_ ? file_->size() : std::ssize(image)) {
  Header header;
  const auto start = bytes(0, checked_header_bytes);
  if (start.size() < sizeof header) refuse(fmt::format("is truncated: {} bytes are left", size_));
  std::memcpy(&header, start.data(), sizeof header);
  if (!is_one(start) || header.checksum != checksum_of(header) || header.n_regions > most_regions)
    refuse(fmt::format("is damaged in its first {} bytes", checked_header_bytes));
  end_ = static_cast<std::int64_t>(header.end);
  for (std::size_t i = 0; i < header.n_regions; ++i) {
    const auto begin = static_cast<std::int64_t>(header.regions[i].begin);
    const auto size = static_cast<std::int64_t>(header.regions[i].bytes & ~bulk_bit);
    regions_.push_back({begin, begin + size, (header.regions[i].bytes & bulk_bit) != 0});
    first_piece_.push_back(n_pieces_);
    n_pieces_ += regions_.back().n_pieces();
  }
  const auto n_runs = (n_pieces_ + run - 1) / run;
  const auto table_end = end_ + 8 * n_pieces_;
  if (size_ != end_ + table_bytes(n_pieces_))
    refuse(fmt::format("has {} bytes, expected {}", size_, end_ + table_bytes(n_pieces_)));
  const auto runs = bytes(table_end, size_);
  if (piece_checksum(runs) != header.checksum_of_runs) refuse("is damaged in its table of checksums");
  runs_.resize(static_cast<std::size_t>(n_runs));
  if (!runs.empty()) std::memcpy(runs_.data(), runs.data(), runs.size());
}

void CheckedFile::refuse(const std::string& what) const {
  throw InputError(fmt::format("{} {}; copy it again or make it again", name_, what));
}

std::size_t CheckedFile::fill(std::int64_t begin, std::span<std::byte> to) const {
  if (file_) return file_->read_at(to.data(), to.size(), begin);
  const auto found = std::clamp<std::int64_t>(size_ - begin, 0, std::ssize(to));
  if (found > 0) std::copy_n(image_.begin() + begin, found, to.begin());
  return static_cast<std::size_t>(found);
}

std::vector<std::byte> CheckedFile::bytes(std::int64_t begin, std::int64_t end) const {
  end = std::min(end, size_);
  begin = std::min(begin, end);
  std::vector<std::byte> found(static_cast<std::size_t>(end - begin));
  found.resize(fill(begin, found));
  return found;
}

std::vector<std::uint64_t> CheckedFile::checksums(std::int64_t first, std::int64_t count) const {
  // Whole parts of the table, because each part has a checksum.
  const auto begin = first / run * run, end = std::min((first + count + run - 1) / run * run, n_pieces_);
  const auto stored = bytes(end_ + 8 * begin, end_ + 8 * end);
  std::vector<std::uint64_t> table(static_cast<std::size_t>(end - begin));
  if (stored.size() != 8 * table.size()) refuse("is truncated");
  if (!stored.empty()) std::memcpy(table.data(), stored.data(), stored.size());
  const auto sums = checksums_of_runs(table);
  if (!std::equal(sums.begin(), sums.end(), runs_.begin() + begin / run))
    refuse("is damaged in its table of checksums");
  const auto from = table.begin() + (first - begin);
  return {from, from + count};
}

void CheckedFile::check_piece(std::int64_t begin, std::span<const std::byte> piece, std::uint64_t sum) const {
  if (piece_checksum(piece) != sum)
    refuse(
        fmt::format("is damaged: its bytes {} to {} are not what was written", begin, begin + std::ssize(piece) - 1));
}

bool CheckedFile::is_bulk(std::int64_t byte) const {
  return std::any_of(regions_.begin(), regions_.end(),
                     [&](const Region& region) { return region.is_bulk && byte >= region.begin && byte < region.end; });
}

void CheckedFile::check_all_but_bulk() const {
  std::vector<Range> ranges;
  for (const auto& region : regions_)
    if (!region.is_bulk) ranges.push_back({region.begin, region.end});
  read(ranges, [](auto&&...) {});
}

std::vector<CheckedFile::Wanted> CheckedFile::wanted_of(std::span<const Range> ranges) const {
  struct Pieces {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = -1;
    std::vector<std::uint64_t> sums;
  };
  std::vector<Pieces> pieces(regions_.size());  // that are wanted of each region
  std::vector<std::size_t> region_of;           // of each range
  for (const auto& [begin, end] : ranges) {
    const auto region = std::find_if(regions_.begin(), regions_.end(), [&, from = begin, to = end](const Region& one) {
      return from >= one.begin && to <= one.end;
    });
    if (region == regions_.end()) refuse(fmt::format("has no bytes {} to {} in one part", begin, end - 1));
    region_of.push_back(static_cast<std::size_t>(region - regions_.begin()));
    if (begin == end) continue;
    auto& [first, last, sums] = pieces[region_of.back()];
    first = std::min(first, (begin - region->begin) / piece_bytes);
    last = std::max(last, (end - 1 - region->begin) / piece_bytes);
  }
  for (std::size_t r = 0; r < pieces.size(); ++r)
    if (auto& [first, last, sums] = pieces[r]; last >= first)
      sums = checksums(first_piece_[r] + first, last - first + 1);
  std::vector<Wanted> wanted;
  for (std::size_t range = 0; range < ranges.size(); ++range) {
    const auto [begin, end] = ranges[range];
    const auto& region = regions_[region_of[range]];
    const auto& [first, last, sums] = pieces[region_of[range]];
    for (auto at = begin; at < end; at = wanted.back().end) {
      const auto index = (at - region.begin) / piece_bytes;
      const auto [from, to] = region.piece(index);
      wanted.push_back({range, from, to, at, std::min(to, end), sums[static_cast<std::size_t>(index - first)]});
    }
  }
  return wanted;
}

/// Pieces some at a time. Those that are neighbours in the file are read by one request.
class CheckedFile::Batches {
 public:
  Batches(const CheckedFile& file, const std::vector<Wanted>& wanted)
      : file_(file), wanted_(wanted), size_((wanted.size() + at_once - 1) / at_once) {
    buffers_.resize(std::min(most_buffers, size_));
    for (auto& buffer : buffers_) buffer.resize(std::min(at_once, wanted.size()) * (piece_bytes + 2 * page_bytes));
    // Few pieces may be wanted again and again, which the system's memory makes cheap.
    if (file.file_ && size_ > most_buffers) direct_ = file.file_->direct();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto in_page = static_cast<std::size_t>(wanted[i].piece_begin % page_bytes);
      if (i % at_once == 0)
        place_.push_back(in_page);
      else if (is_again(i))
        place_.push_back(place_.back());
      else if (follows(i))
        place_.push_back(place_.back() + bytes_of(i - 1));
      else {  // at the same distance from a page as in the file
        const auto end = static_cast<std::int64_t>(place_.back() + bytes_of(i - 1));
        place_.push_back(static_cast<std::size_t>(whole_pages(end)) + in_page);
      }
    }
  }

  std::size_t size() const { return size_; }
  std::size_t n_buffers() const { return buffers_.size(); }

  /// Reads and checks each piece.
  void read(std::size_t batch) {
    const auto end = std::min(wanted_.size(), at_once * (batch + 1));
    for (auto i = at_once * batch; i < end;) {
      const auto first = i++;
      while (i < end && (follows(i) || is_again(i))) ++i;
      const auto bytes = place_[i - 1] + bytes_of(i - 1) - place_[first];
      const auto to = std::span(buffers_[batch % buffers_.size()]).subspan(place_[first], bytes);
      if (fill(wanted_[first].piece_begin, to) != bytes) file_.refuse("is truncated");
      for (auto piece = first; piece < i; ++piece)
        if (piece == first || !is_again(piece))
          file_.check_piece(wanted_[piece].piece_begin, bytes_in(piece), wanted_[piece].sum);
    }
  }

  /// Passes the wanted part of each piece to `take`.
  void use(std::size_t batch, std::span<const Range> ranges, const Take& take) const {
    for (auto i = at_once * batch; i < std::min(wanted_.size(), at_once * (batch + 1)); ++i) {
      const auto& [range, piece_begin, piece_end, begin, end, sum] = wanted_[i];
      take(range, begin - ranges[range].begin,
           bytes_in(i).subspan(static_cast<std::size_t>(begin - piece_begin), static_cast<std::size_t>(end - begin)));
    }
  }

 private:
  static constexpr std::size_t at_once = 2;  // pieces, which fit into one large page
  static constexpr std::size_t most_buffers = 3;

  std::size_t bytes_of(std::size_t i) const {
    return static_cast<std::size_t>(wanted_[i].piece_end - wanted_[i].piece_begin);
  }
  std::span<const std::byte> bytes_in(std::size_t i) const {
    return std::span(buffers_[i / at_once % buffers_.size()]).subspan(place_[i], bytes_of(i));
  }
  /// Returns whether a piece is the one before it, of which another part was wanted; follows() whether it comes next in
  /// the file.
  bool is_again(std::size_t i) const { return wanted_[i].piece_begin == wanted_[i - 1].piece_begin; }
  bool follows(std::size_t i) const { return wanted_[i].piece_begin == wanted_[i - 1].piece_end; }

  /// Fills a part of a buffer, around which there is room up to whole pages.
  std::size_t fill(std::int64_t begin, std::span<std::byte> to) const {
    const auto before = begin % page_bytes;
    const auto bytes = whole_pages(before + std::ssize(to));
    if (!direct_ || file_.file_->is_in_memory(begin - before, bytes)) return file_.fill(begin, to);
    const auto found = direct_->read_at(to.data() - before, static_cast<std::size_t>(bytes), begin - before);
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(static_cast<std::int64_t>(found) - before, 0, std::ssize(to)));
  }

  const CheckedFile& file_;
  const std::vector<Wanted>& wanted_;
  std::size_t size_;
  std::optional<Descriptor> direct_;
  std::vector<DirectBytes> buffers_;
  std::vector<std::size_t> place_;  // of each piece in its buffer
};

void CheckedFile::read(std::span<const Range> ranges, const Take& take) const {
  const auto wanted = wanted_of(ranges);
  Batches batches(*this, wanted);
  const auto n_batches = batches.size();
  if (n_batches <= 1) {  // not worth a thread
    for (std::size_t batch = 0; batch < n_batches; ++batch) batches.read(batch), batches.use(batch, ranges, take);
    return;
  }
  std::counting_semaphore<> n_free(static_cast<std::ptrdiff_t>(batches.n_buffers())), n_full(0);
  std::atomic<bool> is_given_up = false, has_failed = false;
  std::exception_ptr error;  // of the helper, where it has failed
  std::jthread helper([&] {
    for (std::size_t batch = 0; batch < n_batches && !has_failed; ++batch) {
      n_free.acquire();
      if (is_given_up) return;
      try {
        batches.read(batch);
      } catch (...) {
        error = std::current_exception();
        has_failed = true;
      }
      n_full.release();
    }
  });
  try {
    for (std::size_t batch = 0; batch < n_batches; ++batch) {
      n_full.acquire();
      if (has_failed) std::rethrow_exception(error);
      batches.use(batch, ranges, take);
      n_free.release();
    }
  } catch (...) {
    is_given_up = true;
    n_free.release();
    throw;
  }
}

void CheckedFile::read(std::int64_t begin, std::span<std::byte> bytes) const {
  const Range range{begin, begin + std::ssize(bytes)};
  read(std::span(&range, 1), [&](std::size_t /*range*/, std::int64_t done, std::span<const std::byte> some) {
    std::memcpy(bytes.data() + done, some.data(), some.size());
  });
}

}  // namespace tessera::io
