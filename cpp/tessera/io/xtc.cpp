// A frame is a header (mark, atoms, step, time, box) and its positions, all big-endian; lengths are nm. Up to nine
// atoms are written as plain numbers. The positions of more are rounded to integers and packed into bits:
//
// - A position is written as three integers from the least position on, as one number of mixed radix.
// - Up to eight atoms after it may follow as small differences, each to the atom before it, in fewer bits. Before these
//   stand one bit that is 1 if their number or the range of differences changes, and then five bits that say how.
// - The first two atoms of such a row change places, so that a water is written as hydrogen, oxygen, hydrogen: both
//   differences are then bonds.
//
// The table of ranges and the meaning of bits are facts of the format, which GROMACS' manual describes.
#include "tessera/io/xtc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::io {
namespace {

constexpr std::int32_t mark = 1995, mark_of_many = 2023;  // of many atoms: the size of their bits is a 64-bit number
constexpr std::int64_t most_atoms_of_first_mark = 298261617;
constexpr std::int64_t most_plain_atoms = 9;
constexpr std::int64_t head_bytes = 4 * (4 + 9);
constexpr double nanometre = 10;  // Å
constexpr double units_a_nm = nanometre / xtc_resolution;

/// Ranges of small differences, about 2^(n/3); three of them fit into n bits.
constexpr std::array<std::int32_t, 73> ranges = {
    0,       0,       0,       0,       0,        0,        0,       0,       0,       8,       10,
    12,      16,      20,      25,      32,       40,       50,      64,      80,      101,     128,
    161,     203,     256,     322,     406,      512,      645,     812,     1024,    1290,    1625,
    2048,    2580,    3250,    4096,    5060,     6501,     8192,    10321,   13003,   16384,   20642,
    26007,   32768,   41285,   52015,   65536,    82570,    104031,  131072,  165140,  208063,  262144,
    330280,  416127,  524287,  660561,  832255,   1048576,  1321122, 1664510, 2097152, 2642245, 3329021,
    4194304, 5284491, 6658042, 8388607, 10568983, 13316085, 16777216};
constexpr int first_range = 9, last_range = 72;

using Place = std::array<std::int32_t, 3>;
__extension__ using Wide = unsigned __int128;

class Bytes {
 public:
  template <class Value>
  void put(Value value) {
    std::array<char, sizeof(Value)> text;
    std::memcpy(text.data(), &value, sizeof value);
    if constexpr (std::endian::native == std::endian::little) std::reverse(text.begin(), text.end());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  /// Appends bytes and zeros up to a multiple of four.
  void put(const std::vector<std::uint8_t>& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    bytes_.resize((bytes_.size() + 3) / 4 * 4, 0);
  }
  std::vector<char> take() { return std::move(bytes_); }

 private:
  std::vector<char> bytes_;
};

template <class Value>
Value read(const char* bytes) {
  std::array<char, sizeof(Value)> text;
  std::memcpy(text.data(), bytes, sizeof(Value));
  if constexpr (std::endian::native == std::endian::little) std::reverse(text.begin(), text.end());
  Value value;
  std::memcpy(&value, text.data(), sizeof value);
  return value;
}

/// Packs numbers of some bits, the highest bit first.
class Bits {
 public:
  /// Appends a number of up to 32 bits, the others of which are zero.
  void put(int n, std::uint64_t value) {
    last_ = (last_ << n) | value;
    filled_ += n;
    if (filled_ < 32) return;
    filled_ -= 32;
    const auto word = static_cast<std::uint32_t>(last_ >> filled_);
    for (const int shift : {24, 16, 8, 0}) bytes_.push_back(static_cast<std::uint8_t>(word >> shift));
  }
  /// Appends a number of up to 72 bits, the lowest byte first.
  void put_wide(int n, Wide value) {
    for (; n > 32; n -= 32, value >>= 32) put(32, swapped(static_cast<std::uint32_t>(value)));
    const auto rest = n % 8;
    if (n >= 8) put(n - rest, swapped(static_cast<std::uint32_t>(value)) >> (32 - n + rest));
    if (rest > 0) put(rest, static_cast<std::uint64_t>(value >> (n - rest)));
  }
  std::vector<std::uint8_t> finish() {
    while (filled_ > 0) {
      filled_ -= 8;
      bytes_.push_back(static_cast<std::uint8_t>(filled_ >= 0 ? last_ >> filled_ : last_ << -filled_));
    }
    return std::move(bytes_);
  }

 private:
  static std::uint32_t swapped(std::uint32_t v) { return v << 24 | (v & 0xFF00) << 8 | (v >> 8 & 0xFF00) | v >> 24; }

  std::vector<std::uint8_t> bytes_;
  std::uint64_t last_ = 0;
  int filled_ = 0;  // bits of last_ that are not among bytes_: fewer than 32
};

std::int64_t greatest_difference(const Place& a, const Place& b) {
  std::int64_t most = 0;
  for (std::size_t d = 0; d < 3; ++d) most = std::max(most, std::abs(std::int64_t{a[d]} - b[d]));
  return most;
}

double distance2(const Place& a, const Place& b) {
  double sum = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double apart = static_cast<double>(a[d]) - b[d];
    sum += apart * apart;
  }
  return sum;
}

/// How whole positions are written: together, or where their range is large, one by one.
class Whole {
 public:
  Whole(const Place& least, const Place& most) : least_(least) {
    constexpr std::uint32_t most_together = 0xFFFFFF;
    bool are_small = true;
    Wide product = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      size_[d] = static_cast<std::uint32_t>(std::int64_t{most[d]} - least[d] + 1);
      are_small &= size_[d] <= most_together;
      product *= size_[d];
    }
    if (!are_small) return;
    while (product >> bits_together_ != 0) ++bits_together_;
  }
  void put(Bits& bits, const Place& place) const {
    std::array<std::uint32_t, 3> from_least{};
    for (std::size_t d = 0; d < 3; ++d)
      from_least[d] = static_cast<std::uint32_t>(place[d]) - static_cast<std::uint32_t>(least_[d]);
    if (bits_together_ > 0)
      return bits.put_wide(bits_together_, (Wide{from_least[0]} * size_[1] + from_least[1]) * size_[2] + from_least[2]);
    for (std::size_t d = 0; d < 3; ++d) bits.put(static_cast<int>(std::bit_width(size_[d])), from_least[d]);
  }

 private:
  Place least_;
  std::array<std::uint32_t, 3> size_{};
  int bits_together_ = 0;
};

/// The range of small differences: it follows the distances of atoms, one step of the table at a time.
struct Range {
  int now;

  std::int64_t half() const { return ranges[static_cast<std::size_t>(now)] / 2; }
  std::int64_t half_of_smaller() const { return ranges[static_cast<std::size_t>(std::max(first_range, now - 1))] / 2; }
  void put(Bits& bits, const Place& place, const Place& before) const {
    const auto size = static_cast<std::uint32_t>(ranges[static_cast<std::size_t>(now)]);
    Wide number = 0;
    for (std::size_t d = 0; d < 3; ++d)
      number = number * size + static_cast<std::uint32_t>(std::int64_t{place[d]} - before[d] + half());
    bits.put_wide(now, number);
  }
};

/// Returns the table's place of the least distance between successive atoms.
int first_range_of(const std::vector<Place>& places) {
  std::int64_t least = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 1; i < places.size(); ++i) {
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < 3; ++d) sum += std::abs(std::int64_t{places[i][d]} - places[i - 1][d]);
    least = std::min(least, sum);
  }
  int range = first_range;
  while (range < last_range && ranges[static_cast<std::size_t>(range)] < least) ++range;
  return range;
}

std::vector<std::uint8_t> pack(std::vector<Place>& places, const Whole& whole, int start) {
  constexpr std::size_t most_small = 8;
  const int largest = std::min(last_range, start + 8), smallest = std::max(first_range, largest - 8);
  const std::int64_t half_of_largest = ranges[static_cast<std::size_t>(largest)] / 2;
  Range range{start};
  Bits bits;
  std::size_t n_small_before = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < places.size();) {
    const auto is_small = [&](std::size_t k) {
      return k < places.size() && greatest_difference(places[k], places[k - 1]) < range.half();
    };
    int change = 0;
    if (range.now < largest && i > 0 && greatest_difference(places[i], places[i - 1]) < half_of_largest)
      change = 1;
    else if (range.now > smallest)
      change = -1;
    std::size_t n_small = 0;
    if (is_small(i + 1)) {
      std::swap(places[i], places[i + 1]);
      n_small = 1;
      while (n_small < most_small && is_small(i + n_small + 1)) ++n_small;
    }
    // A smaller range must hold what this row holds.
    const auto half = static_cast<double>(range.half_of_smaller());
    for (std::size_t k = 1; change < 0 && k <= n_small; ++k)
      if (distance2(places[i + k], places[i + k - 1]) >= half * half) change = 0;
    if (n_small == 0 && change < 0) change = 0;

    whole.put(bits, places[i]);
    if (n_small != n_small_before || change != 0) {
      bits.put(1, 1);
      bits.put(5, static_cast<std::uint32_t>(3 * static_cast<int>(n_small) + change + 1));
      n_small_before = n_small;
    } else {
      bits.put(1, 0);
    }
    for (std::size_t k = 1; k <= n_small; ++k) range.put(bits, places[i + k], places[i + k - 1]);
    range.now += change;
    i += n_small + 1;
  }
  return bits.finish();
}

/// Returns the bytes of the frame that begins at an offset, or −1 if it is not whole or has other atoms.
std::int64_t frame_bytes(const Descriptor& file, std::int64_t offset, std::int64_t n_atoms) {
  std::array<char, head_bytes + 4 * 11> head{};  // up to the size of the bits
  const auto found = static_cast<std::int64_t>(file.read_at(head.data(), head.size(), offset));
  const bool is_plain = n_atoms <= most_plain_atoms, is_large = n_atoms > most_atoms_of_first_mark;
  const std::int64_t least = head_bytes + (is_plain ? 4 + 12 * n_atoms : 4 * 9 + (is_large ? 8 : 4));
  if (file.size() - offset < least || found < std::min<std::int64_t>(least, std::ssize(head))) return -1;
  if (read<std::int32_t>(head.data()) != (is_large ? mark_of_many : mark)) return -1;
  if (read<std::int32_t>(head.data() + 4) != n_atoms) return -1;
  if (is_plain) return least;
  const auto* size = head.data() + head_bytes + 4 * 9;
  const std::int64_t bytes = is_large ? read<std::int64_t>(size) : read<std::int32_t>(size);
  const std::int64_t all = least + (bytes + 3) / 4 * 4;
  return bytes < 0 || offset + all > file.size() ? -1 : all;
}

}  // namespace

std::vector<char> encode_xtc(const std::string& path, std::int64_t step, double time, const Box& box,
                             std::span<const float> positions) {
  const auto n_atoms = std::ssize(positions) / 3;
  const bool is_large = n_atoms > most_atoms_of_first_mark;
  const auto nm = [](double length) { return static_cast<float>(length / nanometre); };
  Bytes frame;
  frame.put(is_large ? mark_of_many : mark);
  frame.put(static_cast<std::int32_t>(n_atoms));
  frame.put(static_cast<std::int32_t>(step));
  frame.put(static_cast<float>(time));
  for (const auto& edge : {box.a(), box.b(), box.c()})
    for (const double component : {edge.x, edge.y, edge.z}) frame.put(nm(component));
  frame.put(static_cast<std::int32_t>(n_atoms));
  if (n_atoms <= most_plain_atoms) {
    for (const float coordinate : positions) frame.put(nm(coordinate));
  } else {
    constexpr double most = std::numeric_limits<std::int32_t>::max() / 2;
    std::vector<Place> places(static_cast<std::size_t>(n_atoms));
    Place least, greatest;
    least.fill(std::numeric_limits<std::int32_t>::max());
    greatest.fill(std::numeric_limits<std::int32_t>::min());
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::size_t d = 0; d < 3; ++d) {
        const double exact = positions[3 * i + d] / xtc_resolution,
                     unit = std::trunc(exact + std::copysign(0.5, exact));
        if (!(std::abs(unit) < most))
          throw RunError(fmt::format("{}: atom {} is at {} Å, too far for an XTC file: write another format (dcd)",
                                     path, i + 1, positions[3 * i + d]));
        places[i][d] = static_cast<std::int32_t>(unit);
        least[d] = std::min(least[d], places[i][d]);
        greatest[d] = std::max(greatest[d], places[i][d]);
      }
    const int range = first_range_of(places);
    frame.put(static_cast<float>(units_a_nm));
    for (const auto& place : {least, greatest})
      for (const auto component : place) frame.put(component);
    frame.put(static_cast<std::int32_t>(range));
    const auto bits = pack(places, Whole(least, greatest), range);
    if (is_large)
      frame.put(static_cast<std::int64_t>(bits.size()));
    else
      frame.put(static_cast<std::int32_t>(bits.size()));
    frame.put(bits);
  }
  return frame.take();
}

XtcWriter XtcWriter::create(const std::string& path, std::int64_t n_atoms) {
  return {Descriptor::create(path), n_atoms};
}

XtcWriter XtcWriter::continue_after(const std::string& path, std::int64_t n_frames, std::int64_t n_atoms) {
  XtcWriter writer(Descriptor::open_to_change(path), n_atoms);
  for (; writer.n_frames_ < n_frames; ++writer.n_frames_) {
    const auto bytes = frame_bytes(writer.file_, writer.end_, n_atoms);
    if (bytes < 0)
      throw InputError(
          fmt::format("{}: holds {} whole frames of {} atoms, the checkpoint says {}; put the trajectory back, or move "
                      "it away to begin another from the checkpoint on",
                      path, writer.n_frames_, n_atoms, n_frames));
    writer.end_ += bytes;
  }
  writer.file_.truncate(writer.end_);
  return writer;
}

void XtcWriter::append(std::int64_t step, double time, const Box& box, std::span<const float> positions) {
  TESSERA_CHECK(static_cast<std::int64_t>(positions.size()) == 3 * n_atoms_);
  append_encoded(encode_xtc(file_.path(), step, time, box, positions));
}

void XtcWriter::append_encoded(std::span<const char> bytes) {
  file_.write_at(bytes.data(), bytes.size(), end_);
  end_ += std::ssize(bytes);
  ++n_frames_;
}

}  // namespace tessera::io
