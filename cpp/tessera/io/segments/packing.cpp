// The loops over rows are plain ones, which the compiler turns into vectors of each instruction set. All numbers are
// integers, and quotients and roots are rounded as IEEE 754 says, so that each set gives the same bytes.
#include "tessera/io/segments/packing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/io/segments/packing.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tessera::io::segments {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t block_rows = 960;  // a multiple of all periods
constexpr std::size_t most_period = 6, most_back = 6;
constexpr std::size_t lanes = 60;      // rows whose ranges are found apart: a multiple of all periods
constexpr double most_joint = 0x1p50;  // values of a row in one integer, so that floating-point numbers divide it
constexpr std::int64_t most_on_sphere = 1 << 20;  // of a component, so that squares are exact
constexpr std::uint64_t most_square = 3 * most_on_sphere * most_on_sphere;
constexpr std::size_t most_header = 64;  // bytes of a place

enum class Layout : std::uint8_t { joint, sphere, apart };

/// Integers in floating-point numbers, in which all that is calculated of them is exact.
struct Range {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  double count() const { return high - low + 1; }
};
using Ranges = std::array<Range, 3>;
using Row = std::array<std::int32_t, 3>;
using Integers = std::array<std::int32_t, block_rows>;

/// A block of rows, with the rows before it to which differences are taken.
struct Block {
  std::array<Row, most_back + block_rows> rows;
  Row* first() { return rows.data() + most_back; }
  const Row* first() const { return rows.data() + most_back; }
  /// Moves the last rows to where those before the next block are.
  void go_on(std::size_t n_rows) { std::copy_n(rows.data() + n_rows, most_back, rows.data()); }
};

std::int32_t wrapped(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}
std::int32_t wrapped_sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

int bits_of(double count) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count) - 1)); }

/// Returns the bits of a row with components in these ranges.
int bits_of(const Ranges& ranges) {
  const double product = ranges[0].count() * ranges[1].count() * ranges[2].count();
  return product <= most_joint ? bits_of(product)
                               : bits_of(ranges[0].count()) + bits_of(ranges[1].count()) + bits_of(ranges[2].count());
}

/// Returns √(square − u² − v²), rounded. All squares are exact.
std::int32_t height(double square, std::int32_t u, std::int32_t v) {
  const double x = u, y = v, rest = square - x * x - y * y;
  const double raised = std::sqrt(rest > 0 ? rest : 0.0) + 0.5;
  return static_cast<std::int32_t>(raised);
}

// Integers from 0 to 2⁵² − 1 as floating-point numbers and back, which all instruction sets do side by side.
constexpr std::uint64_t bits_of_2_52 = std::bit_cast<std::uint64_t>(0x1p52);
double to_double(std::int64_t value) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(value) | bits_of_2_52) - 0x1p52;
}
std::int64_t to_integer(double value) {
  return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value + 0x1p52) ^ bits_of_2_52);
}
/// Rounds a number of at most 2⁵¹, ties to even.
double to_whole(double value) { return (value + 0x1.8p52) - 0x1.8p52; }

std::byte* add_number(std::byte* to, std::uint64_t value) {
  for (; value >= 128; value >>= 7) *to++ = static_cast<std::byte>(value | 128);
  *to++ = static_cast<std::byte>(value);
  return to;
}
std::byte* add_range(std::byte* to, const Range& range) {
  const auto low = static_cast<std::int64_t>(range.low);
  to = add_number(to, (static_cast<std::uint64_t>(low) << 1) ^ static_cast<std::uint64_t>(low >> 63));
  return add_number(to, static_cast<std::uint64_t>(range.count() - 1));
}

/// The rows of a place: differences to the rows some rows before, or the rows themselves.
struct Place {
  std::size_t back = 0;
  int bits = std::numeric_limits<int>::max();
  Ranges ranges;
};

class Packer {
 public:
  /// Returns the end of the bytes of a block.
  std::byte* pack(const Block& block, std::size_t n_rows, std::byte* to) {
    const auto period = choose(block, n_rows);
    *to++ = static_cast<std::byte>(period);
    for (std::size_t k = 0; k < std::min(period, n_rows); ++k) {
      n_ = 0;
      const auto& place = places_[period][k];
      const auto* before = block.first() - place.back;
      for (auto row = k; row < n_rows; row += period, ++n_)
        for (std::size_t c = 0; c < 3; ++c) {
          const auto now = block.first()[row][c];
          differences_[c][n_] = place.back == 0 ? now : wrapped(now, before[row][c]);
        }
      to = pack(place, to);
    }
    return to;
  }

 private:
  /// Finds the ranges of differences of all lanes.
  void find_ranges(const Block& block, std::size_t n_rows) {
    const auto* from = block.first()->data();
    for (std::size_t back = 0; back <= most_back; ++back) {
      auto* low = low_[back].data();
      auto* high = high_[back].data();
      std::fill_n(low, 3 * lanes, std::numeric_limits<std::int32_t>::max());
      std::fill_n(high, 3 * lanes, std::numeric_limits<std::int32_t>::min());
      for (std::size_t begin = 0; begin < 3 * n_rows; begin += 3 * lanes) {
        const auto count = std::min(3 * lanes, 3 * n_rows - begin);
        const auto* now = from + begin;
        const auto* before = now - 3 * back;
        const auto with = [&](auto n) {
          for (std::size_t i = 0; i < n; ++i) {
            const auto difference = back == 0 ? now[i] : wrapped(now[i], before[i]);
            low[i] = std::min(low[i], difference);
            high[i] = std::max(high[i], difference);
          }
        };
        if (count == 3 * lanes)
          with(std::integral_constant<std::size_t, 3 * lanes>());
        else
          with(count);
      }
    }
  }

  /// Returns the period of the fewest bits.
  std::size_t choose(const Block& block, std::size_t n_rows) {
    find_ranges(block, n_rows);
    std::size_t best = 1;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (std::size_t period = 1; period <= most_period; ++period) {
      std::size_t bits = 0;
      for (std::size_t k = 0; k < std::min(period, n_rows); ++k) {
        auto& place = places_[period][k] = {};
        for (std::size_t back = 0; back <= most_back; ++back) {
          Ranges ranges;
          for (auto lane = k; lane < std::min(lanes, n_rows); lane += period)
            for (std::size_t c = 0; c < 3; ++c) {
              ranges[c].low = std::min<double>(ranges[c].low, low_[back][3 * lane + c]);
              ranges[c].high = std::max<double>(ranges[c].high, high_[back][3 * lane + c]);
            }
          const int of_row = bits_of(ranges);
          if (of_row < place.bits) place = {back, of_row, ranges};
        }
        bits += static_cast<std::size_t>(place.bits) * ((n_rows - k + period - 1) / period) + 100;
      }
      if (bits >= fewest) continue;
      fewest = bits;
      best = period;
    }
    return best;
  }

  std::byte* pack(const Place& place, std::byte* to) {
    if (place.back > 0 && place.bits > 12 && try_sphere(place)) return pack_sphere(place, to);
    const auto& of = place.ranges;
    const auto& [x, y, z] = differences_;
    const double product = of[0].count() * of[1].count() * of[2].count();
    const bool is_joint = product <= most_joint;
    to = start(is_joint ? Layout::joint : Layout::apart, place, to);
    for (const auto& range : of) to = add_range(to, range);
    if (is_joint) {
      for (std::size_t i = 0; i < n_; ++i)
        codes_[i] =
            to_integer(((x[i] - of[0].low) * of[1].count() + (y[i] - of[1].low)) * of[2].count() + (z[i] - of[2].low));
      return write_codes(bits_of(product), to);
    }
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < n_; ++i) codes_[i] = to_integer(differences_[c][i] - of[c].low);
      to = write_codes(bits_of(of[c].count()), to);
    }
    return to;
  }

  std::byte* write_codes(int bits, std::byte* to) const {
    std::uint64_t held = 0;
    int filled = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const auto code = static_cast<std::uint64_t>(codes_[i]);
      held |= code << filled;
      filled += bits;
      if (filled < 64) continue;
      std::memcpy(to, &held, 8);
      to += 8;
      filled -= 64;
      held = filled > 0 ? code >> (bits - filled) : 0;
    }
    const auto bytes = static_cast<std::size_t>(filled + 7) / 8;
    std::memcpy(to, &held, bytes);
    return to + bytes;
  }

  static std::byte* start(Layout layout, const Place& place, std::byte* to) {
    *to++ = static_cast<std::byte>(static_cast<std::size_t>(layout) << 4 | place.back);
    return to;
  }

  /// Returns whether differences have so similar lengths that fewer bits are enough.
  bool try_sphere(const Place& place) {
    for (const auto& range : place.ranges)
      if (range.low < -most_on_sphere || range.high > most_on_sphere) return false;
    const auto& [x, y, z] = differences_;
    double least = std::numeric_limits<double>::max(), greatest = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double dx = x[i], dy = y[i], dz = z[i], square = dx * dx + dy * dy + dz * dz;
      least = square < least ? square : least;
      greatest = square > greatest ? square : greatest;
    }
    if (4 * least < 3 * greatest) return false;
    square_ = std::floor((least + greatest) / 2);
    for (std::size_t i = 0; i < n_; ++i) {
      const auto dx = x[i], dy = y[i], dz = z[i];
      const auto ax = std::abs(dx), ay = std::abs(dy), az = std::abs(dz);
      const auto longest = std::max(ax, std::max(ay, az));
      const bool is_x = ax == longest, is_y = ay == longest;
      const auto u = is_x ? dy : dx, v = is_x || is_y ? dz : dy;
      const auto with_sign = is_x ? dx : is_y ? dy : dz;
      u_[i] = u;
      v_[i] = v;
      side_[i] = (is_x ? 0 : is_y ? 2 : 4) + (with_sign < 0 ? 1 : 0);
      excess_[i] = longest - height(square_, u, v);
    }
    sphere_ = {range_of(u_), range_of(v_), range_of(excess_)};
    const double product = 6 * sphere_[0].count() * sphere_[1].count() * sphere_[2].count();
    if (product > most_joint) return false;
    sphere_bits_ = bits_of(product);
    return sphere_bits_ < place.bits;
  }

  Range range_of(const Integers& integers) const {
    auto low = integers[0], high = integers[0];
    for (std::size_t i = 1; i < n_; ++i) {
      low = std::min(low, integers[i]);
      high = std::max(high, integers[i]);
    }
    return {static_cast<double>(low), static_cast<double>(high)};
  }

  std::byte* pack_sphere(const Place& place, std::byte* to) {
    to = add_number(start(Layout::sphere, place, to), static_cast<std::uint64_t>(square_));
    for (const auto& range : sphere_) to = add_range(to, range);
    const auto& [u, v, excess] = sphere_;
    for (std::size_t i = 0; i < n_; ++i)
      codes_[i] = to_integer((((excess_[i] - excess.low) * 6 + side_[i]) * u.count() + (u_[i] - u.low)) * v.count() +
                             (v_[i] - v.low));
    return write_codes(sphere_bits_, to);
  }

  std::array<std::array<std::int32_t, 3 * lanes>, most_back + 1> low_, high_;
  std::array<std::array<Place, most_period>, most_period + 1> places_;
  std::size_t n_ = 0;
  std::array<Integers, 3> differences_;
  Integers u_, v_, side_, excess_;
  std::array<std::int64_t, block_rows> codes_;
  double square_ = 0;
  Ranges sphere_;
  int sphere_bits_ = 0;
};

[[noreturn]] void refuse() { throw std::invalid_argument("packed numbers that are not of its atoms"); }

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool is_at_end() const { return at_ == end_; }
  Row row() {
    Row row;
    if (end_ - at_ < 12) refuse();
    std::memcpy(row.data(), at_, 12);
    at_ += 12;
    return row;
  }

  void unpack(Block& block, std::size_t n_rows) {
    const auto period = byte();
    if (period < 1 || period > most_period) refuse();
    std::array<std::size_t, most_period> back{};
    for (std::size_t k = 0; k < std::min<std::size_t>(period, n_rows); ++k)
      back[k] = unpack_place(block.first() + k, period, (n_rows - k + period - 1) / period);
    for (std::size_t begin = 0; begin < n_rows; begin += period)
      for (std::size_t k = 0; k < period; ++k) {
        if (back[k] == 0 || begin + k >= n_rows) continue;
        auto* row = block.first() + begin + k;
        const auto* before = row - back[k];
        for (std::size_t c = 0; c < 3; ++c) (*row)[c] = wrapped_sum((*row)[c], (*before)[c]);
      }
  }

 private:
  unsigned byte() {
    if (at_ == end_) refuse();
    return static_cast<unsigned>(*at_++);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto next = byte();
      value |= static_cast<std::uint64_t>(next & 127) << shift;
      if (next < 128) return value;
    }
    refuse();
  }
  struct Interval {
    std::int64_t low;
    std::uint64_t count;  // 1 to 2³²
  };
  Interval interval() {
    const auto folded = number();
    const auto count = number();
    if (folded >> 40 != 0 || count >> 32 != 0) refuse();
    return {static_cast<std::int64_t>(folded >> 1) ^ -static_cast<std::int64_t>(folded & 1), count + 1};
  }

  /// Writes the differences of a place into rows a period apart. Returns how many rows back they are from.
  std::size_t unpack_place(Row* rows, std::size_t period, std::size_t n) {
    const auto first = byte();
    const auto back = first & 15;
    if (back > most_back || first >> 4 > static_cast<unsigned>(Layout::apart)) refuse();
    const auto layout = static_cast<Layout>(first >> 4);
    const auto square = layout == Layout::sphere ? number() : 0;
    const std::array<Interval, 3> of = {interval(), interval(), interval()};
    if (layout == Layout::apart) {
      for (std::size_t c = 0; c < 3; ++c) {
        read_codes(bits_of(static_cast<double>(of[c].count)), n);
        for (std::size_t i = 0; i < n; ++i) rows[i * period][c] = static_cast<std::int32_t>(codes_[i] + of[c].low);
      }
      return back;
    }
    const double product = (layout == Layout::sphere ? 6.0 : 1.0) * static_cast<double>(of[0].count) *
                           static_cast<double>(of[1].count) * static_cast<double>(of[2].count);
    if (product > most_joint) refuse();
    read_codes(bits_of(product), n);
    if (layout == Layout::joint) {
      divide(of[2], n, differences_[2]);
      divide(of[1], n, differences_[1]);
      rest(of[0], n, differences_[0]);
    } else {
      if (square > most_square) refuse();
      for (const auto& interval : of)
        if (std::abs(interval.low) > most_on_sphere || interval.count > 2 * most_on_sphere + 1) refuse();
      unpack_sphere(square, of, n);
    }
    for (std::size_t i = 0; i < n; ++i) rows[i * period] = {differences_[0][i], differences_[1][i], differences_[2][i]};
    return back;
  }

  void unpack_sphere(std::uint64_t square, const std::array<Interval, 3>& of, std::size_t n) {
    auto& [x, y, z] = differences_;
    divide(of[1], n, v_);
    divide(of[0], n, u_);
    divide({0, 6}, n, side_);
    rest(of[2], n, x);
    for (std::size_t i = 0; i < n; ++i) {
      const auto excess = x[i], side = side_[i], u = u_[i], v = v_[i];
      const auto longest = wrapped_sum(height(static_cast<double>(square), u, v), excess);
      const auto is_negative = -(side & 1);
      const auto with_sign = wrapped(longest ^ is_negative, is_negative);
      x[i] = side < 2 ? with_sign : u;
      y[i] = side < 2 ? u : side < 4 ? with_sign : v;
      z[i] = side < 4 ? v : with_sign;
    }
  }

  /// Reads integers of some bits each, at most 57.
  void read_codes(int bits, std::size_t n) {
    const auto bytes = (static_cast<std::size_t>(bits) * n + 7) / 8;
    const auto left = static_cast<std::size_t>(end_ - at_);
    if (left < bytes) refuse();
    const auto mask = (std::uint64_t{1} << bits) - 1;
    const auto code = [mask](std::uint64_t word, std::size_t place) {
      return static_cast<std::int64_t>((word >> (place & 7)) & mask);
    };
    std::size_t place = 0, i = 0;
    for (; i < n && (place >> 3) + 8 <= left; ++i, place += static_cast<std::size_t>(bits)) {
      std::uint64_t word;
      std::memcpy(&word, at_ + (place >> 3), 8);
      codes_[i] = code(word, place);
    }
    for (; i < n; ++i, place += static_cast<std::size_t>(bits)) {
      std::uint64_t word = 0;
      std::memcpy(&word, at_ + (place >> 3), left - (place >> 3));
      codes_[i] = code(word, place);
    }
    at_ += bytes;
  }

  /// Divides the integers by the numbers of an interval. The remainders give numbers in it.
  void divide(const Interval& by, std::size_t n, Integers& remainders) {
    const auto divisor = static_cast<double>(by.count), inverse = 1 / divisor, low = static_cast<double>(by.low);
    for (std::size_t i = 0; i < n; ++i) {
      // Of integers up to 2⁵⁰ this is the quotient: what it is before it becomes whole is nearer to it than to others
      // by half of the inverse, and wrong by less than 3/8 of that.
      const auto value = to_double(codes_[i]), quotient = to_whole((value + 0.5) * inverse - 0.5);
      codes_[i] = to_integer(quotient);
      remainders[i] = static_cast<std::int32_t>(value - quotient * divisor + low);
    }
  }
  void rest(const Interval& of, std::size_t n, Integers& numbers) {
    for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<std::int32_t>(codes_[i] + of.low);
  }

  std::array<std::int64_t, block_rows> codes_;
  std::array<Integers, 3> differences_;
  Integers u_, v_, side_;
  const std::byte *at_, *end_;
};

/// Returns whether all fit.
bool to_integers(std::span<const float> values, double per_unit, std::int32_t* integers) {
  constexpr double most = std::numeric_limits<std::int32_t>::max();
  constexpr double shift = 0x1.8p52;  // a sum with it has no digits behind the point, ties to even
  bool fit = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double rounded = (values[i] * per_unit + shift) - shift;
    const bool fits = rounded >= -most && rounded <= most;
    fit &= fits;
    integers[i] = static_cast<std::int32_t>(fits ? rounded : 0.0);
  }
  return fit;
}

std::vector<std::byte> Pack(std::span<const float> values, double unit) {
  // No place needs more than its rows of 12 bytes.
  const auto n_rows = values.size() / 3;
  const auto n_blocks = (n_rows + block_rows - 1) / block_rows;
  std::vector<std::byte> bytes(12 + 12 * n_rows + n_blocks * (1 + most_period * most_header));
  auto* to = bytes.data();
  Block block;
  Packer packer;
  for (std::size_t begin = 0; begin < n_rows; begin += block_rows) {
    const auto n = std::min(block_rows, n_rows - begin);
    if (!to_integers(values.subspan(3 * begin, 3 * n), 1 / unit, block.first()->data()))
      throw std::invalid_argument(
          fmt::format("numbers that are not finite or do not fit into 4 bytes in units of {}", unit));
    if (begin == 0) {
      std::fill_n(block.rows.data(), most_back, *block.first());
      std::memcpy(to, block.first()->data(), 12);
      to += 12;
    }
    to = packer.pack(block, n, to);
    block.go_on(n);
  }
  bytes.resize(static_cast<std::size_t>(to - bytes.data()));
  return bytes;
}

void Unpack(std::span<const std::byte> bytes, double unit, std::span<float> values) {
  const auto n_rows = values.size() / 3;
  Unpacker unpacker(bytes);
  Block block;
  if (n_rows > 0) std::fill_n(block.rows.data(), most_back, unpacker.row());
  for (std::size_t begin = 0; begin < n_rows; begin += block_rows) {
    const auto n = std::min(block_rows, n_rows - begin);
    unpacker.unpack(block, n);
    const auto* from = block.first()->data();
    auto* out = values.data() + 3 * begin;
    for (std::size_t i = 0; i < 3 * n; ++i) out[i] = static_cast<float>(from[i] * unit);
    block.go_on(n);
  }
  if (!unpacker.is_at_end()) refuse();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::io::segments
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::io::segments {

HWY_EXPORT(Pack);
HWY_EXPORT(Unpack);

std::vector<std::byte> pack(std::span<const float> values, double unit) {
  return HWY_DYNAMIC_DISPATCH(Pack)(values, unit);
}

void unpack(std::span<const std::byte> bytes, double unit, std::span<float> values) {
  HWY_DYNAMIC_DISPATCH(Unpack)(bytes, unit, values);
}

}  // namespace tessera::io::segments
#endif
