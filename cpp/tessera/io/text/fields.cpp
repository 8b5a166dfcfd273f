#include "tessera/io/text/fields.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <system_error>

namespace tessera::io::text {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::array<std::uint64_t, 11> powers{
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000, 10'000'000'000};
constexpr std::array<double, 11> real_powers{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10};
constexpr std::uint64_t ten_digits = powers[10];
constexpr int bias = 1075;  // a double is m·2^(exponent − 1075)
constexpr std::uint64_t zeros = 0x3030303030303030;

/// A finite double without its sign: mantissa · 2^−shift.
struct Parts {
  std::uint64_t mantissa;
  int shift;
};

Parts parts_of(std::uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> 52);
  const auto fraction = bits & ((std::uint64_t{1} << 52) - 1);
  return exponent == 0 ? Parts{fraction, bias - 1} : Parts{fraction | (std::uint64_t{1} << 52), bias - exponent};
}

/// Stores eight characters in the order of the digits, whatever the order of a word's bytes in memory.
void store(std::uint64_t characters, char* out) {
  if constexpr (std::endian::native == std::endian::big) characters = __builtin_bswap64(characters);
  std::memcpy(out, &characters, 8);
}

/// Returns the eight digits of a number below 10⁸, each in a byte, the first in the lowest. The halves, the quarters
/// and then the digits are divided side by side in one word.
std::uint64_t eight_digits(std::uint32_t value) {
  const std::uint64_t high = value / 10'000, low = value % 10'000;
  const std::uint64_t halves = high | (low << 32);
  const std::uint64_t hundreds = ((halves * 10'486) >> 20) & 0x0000'007f'0000'007f;
  const std::uint64_t pairs = ((halves - 100 * hundreds) << 16) + hundreds;
  const std::uint64_t tens = ((pairs * 103) >> 10) & 0x000f'000f'000f'000f;
  return tens + ((pairs - 10 * tens) << 8);
}

/// Returns what replaces leading zeros by blanks: '0' and ' ' differ in one bit.
std::uint64_t blanks_for_zeros(std::uint64_t digits) {
  const int leading = digits == 0 ? 7 : std::countr_zero(digits) / 8;  // the last zero of all stays
  return 0x1010101010101010 & ((std::uint64_t{1} << (8 * leading)) - 1);
}

void write_right(std::string_view text, char* out, std::size_t width) {
  if (text.size() > width) {
    std::memset(out, '*', width);
    return;
  }
  std::memset(out, ' ', width - text.size());
  std::memcpy(out + width - text.size(), text.data(), text.size());
}

/// Writes Fortran's names of what is not finite.
void write_special(double value, char* out, std::size_t width) {
  write_right(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity", out, width);
}

/// Writes 0.1234567890E-05, 0.1234567890+123 where the exponent has three digits, and no exponent for what is rounded
/// up to 0.1.
void write_exponential(double value, char* out) {
  std::array<char, 32> digits{};  // "1.234567890e-06"
  const double size = std::fabs(value);
  const char* const end =
      std::to_chars(digits.data(), digits.data() + digits.size(), size, std::chars_format::scientific, 9).ptr;
  int exponent = 0;
  const char* const sign = digits.data() + 12;
  std::from_chars(sign + (*sign == '+' ? 1 : 0), end, exponent);
  ++exponent;
  std::memset(out, ' ', 4);
  if (std::signbit(value)) out[3] = '-';
  out[4] = '0';
  out[5] = '.';
  out[6] = digits[0];
  std::memcpy(out + 7, digits.data() + 2, 9);
  if (exponent == 0) {
    std::memset(out + 16, ' ', 4);
    return;
  }
  const int positive = std::abs(exponent);
  char* at = out + 16;
  if (positive < 100) *at++ = 'E';
  *at++ = exponent < 0 ? '-' : '+';
  if (positive >= 100) *at++ = static_cast<char>('0' + positive / 100);
  *at++ = static_cast<char>('0' + positive / 10 % 10);
  *at = static_cast<char>('0' + positive % 10);
}

/// Returns m·10ᵈ·2⁻ˢ, rounded to nearest, ties to even, for 0 < shift.
std::uint64_t scaled(const Parts& parts, int decimals) {
  const Wide product = static_cast<Wide>(parts.mantissa) * powers[static_cast<std::size_t>(decimals)];
  if (parts.shift > 88) return 0;  // the product is below 2⁸⁷
  const auto digits = static_cast<std::uint64_t>(product >> parts.shift);
  const Wide rest = product & ((static_cast<Wide>(1) << parts.shift) - 1);
  const Wide half = static_cast<Wide>(1) << (parts.shift - 1);
  return digits + (rest > half || (rest == half && (digits & 1) != 0) ? 1 : 0);
}

/// Returns the same where the shift is below 64: only the lower word has a remainder.
std::uint64_t scaled_near_one(const Parts& parts, int decimals) {
  const Wide product = static_cast<Wide>(parts.mantissa) * powers[static_cast<std::size_t>(decimals)];
  const auto digits = static_cast<std::uint64_t>(product >> parts.shift);
  const std::uint64_t rest = static_cast<std::uint64_t>(product) << (64 - parts.shift);
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  return digits + (rest > half || (rest == half && (digits & 1) != 0) ? 1 : 0);
}

/// The number of digits before the point, 0 below 1, of doubles from 2⁻⁴: by binary exponent that of the least number,
/// as no two powers of ten are within a factor of two.
constexpr int lowest_exponent = 1019;
constexpr auto leading_digits = [] {
  std::array<std::uint8_t, 38> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const int exponent = static_cast<int>(i) + lowest_exponent - 1023;
    std::uint8_t n = 0;
    while (exponent >= 0 && (std::uint64_t{1} << exponent) >= powers[n]) ++n;
    table[i] = n;
  }
  return table;
}();

template <int width, int decimals>
void write_fixed(double value, char* out) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool is_negative = (bits >> 63) != 0;
  const double size = std::fabs(value);
  if (!(size < 1.1e9)) {  // more than 20 characters, and perhaps more than 64 bits
    if (std::isfinite(value))
      std::memset(out, '*', width);
    else
      write_special(value, out, width);
    return;
  }
  const auto number = scaled(parts_of(bits & ~(std::uint64_t{1} << 63)), decimals);
  constexpr auto unit = powers[decimals];
  std::array<char, 32> digits;
  char* const end = digits.data() + digits.size();
  char* at = end;
  auto fraction = number % unit;
  for (int i = 0; i < decimals; i += 2, fraction /= 100) {
    const auto two = fraction % 100;
    *--at = static_cast<char>('0' + two % 10);
    *--at = static_cast<char>('0' + two / 10);
  }
  *--at = '.';
  auto whole = number / unit;
  do {
    *--at = static_cast<char>('0' + whole % 10);
    whole /= 10;
  } while (whole != 0);
  if (is_negative) *--at = '-';
  write_right({at, static_cast<std::size_t>(end - at)}, out, width);
}

}  // namespace

void write_f20_10(double value, char* out) { write_fixed<20, 10>(value, out); }

void write_f12_6(double value, char* out) { write_fixed<12, 6>(value, out); }

void write_g20_10(double value, char* out) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto size_bits = bits & ~(std::uint64_t{1} << 63);
  const double size = std::bit_cast<double>(size_bits);
  const bool is_negative = bits != size_bits;
  if (!(size >= 0.1 && size < 1e10)) {
    if (size == 0) {
      std::memcpy(out, "     0.000000000    ", real_width);
      if (is_negative) out[4] = '-';
    } else if (std::isfinite(value)) {
      write_exponential(value, out);
    } else {
      write_special(value, out, real_width);
    }
    return;
  }
  const auto parts = parts_of(size_bits);
  auto leading = static_cast<int>(leading_digits[static_cast<std::size_t>(bias - parts.shift - lowest_exponent)]);
  if (size >= real_powers[static_cast<std::size_t>(leading)]) ++leading;
  auto number = scaled_near_one(parts, 10 - leading);
  if (number == ten_digits) {  // 9.99999999999 has become 10
    number /= 10;
    ++leading;
  }
  if (leading > 10) {
    write_exponential(value, out);
    return;
  }
  // All ten digits stand at the end of 16 characters; those before the point then move one to the left.
  const auto first = static_cast<std::uint32_t>(number / 100);  // eight digits
  const auto last = static_cast<std::uint32_t>(number % 100);
  const std::uint64_t front = eight_digits(first) + zeros;
  std::memset(out, ' ', 8);
  store(front, out + 6);
  out[14] = static_cast<char>('0' + last / 10);
  out[15] = static_cast<char>('0' + last % 10);
  std::memset(out + 16, ' ', 4);
  if (leading == 0) {
    out[4] = '0';
    out[5] = '.';
    if (is_negative) out[3] = '-';
    return;
  }
  if (leading < 8) {
    const std::uint64_t before = (std::uint64_t{1} << (8 * leading)) - 1;
    const std::uint64_t moved = (front & before) | (((front << 8) | ' ') & ~before);
    store(moved, out + 5);
  } else {
    store(front, out + 5);
    if (leading >= 9) out[13] = out[14];
    if (leading == 10) out[14] = out[15];
  }
  out[5 + leading] = '.';
  if (is_negative) out[4] = '-';
}

void write_i10(std::int64_t value, char* out) {
  if (value < 0 || value >= static_cast<std::int64_t>(ten_digits)) {
    std::array<char, 24> digits{};
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    write_right({digits.data(), static_cast<std::size_t>(end - digits.data())}, out, integer_width);
    return;
  }
  const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) / powers[8]);
  const auto low = eight_digits(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) % powers[8]));
  out[0] = static_cast<char>(high >= 10 ? '0' + high / 10 : ' ');
  out[1] = static_cast<char>(high >= 1 ? '0' + high % 10 : ' ');
  store((low + zeros) ^ (high == 0 ? blanks_for_zeros(low) : 0), out + 2);
}

}  // namespace tessera::io::text
