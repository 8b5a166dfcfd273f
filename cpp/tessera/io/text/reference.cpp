#include "tessera/io/text/reference.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tessera::io::text {

namespace {

std::string right(const std::string& text, std::size_t width) {
  return text.size() > width ? std::string(width, '*') : std::string(width - text.size(), ' ') + text;
}

std::string printed(const char* format, int decimals, double value) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, decimals, value);
  return text.data();
}

std::string special(double value) { return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity"; }

std::string fixed(double value, int decimals, std::size_t width) {
  return right(std::isfinite(value) ? printed("%.*f", decimals, value) : special(value), width);
}

/// Returns the number of digits before the point; more than 10 where g20.10 has an exponent, or -1.
int leading_digits(double value) {
  const double size = std::fabs(value);
  if (!(size >= 0.1)) return -1;
  int n = 0;
  for (double power = 1; n <= 10 && size >= power; power *= 10) ++n;
  return n;
}

}  // namespace

std::string f20_10_by_printf(double value) { return fixed(value, 10, 20); }

std::string f12_6_by_printf(double value) { return fixed(value, 6, 12); }

std::string g20_10_by_printf(double value) {
  if (!std::isfinite(value)) return right(special(value), 20);
  if (value == 0) return right(printed("%.*f", 9, value), 16) + "    ";
  const auto digits = printed("%.*e", 9, value);  // "-1.234567890e-06"
  const auto e = digits.find('e');
  const int exponent = std::atoi(digits.c_str() + e + 1) + 1;  // of 0.1234567890
  if (exponent >= 0 && exponent <= 10) {
    auto text = printed("%.*f", 10 - exponent, value);
    if (exponent == 10) text += '.';
    return right(text, 16) + "    ";
  }
  std::array<char, 8> tail{};
  std::snprintf(tail.data(), tail.size(), std::abs(exponent) < 100 ? "E%+03d" : "%+04d", exponent);
  const bool is_negative = digits[0] == '-';
  return right(
      std::string(is_negative ? "-0." : "0.") + digits[is_negative ? 1 : 0] + digits.substr(e - 9, 9) + tail.data(),
      20);
}

std::string i10_by_printf(std::int64_t value) { return right(std::to_string(value), 10); }

void write_three_by_printf(const double* values, char* out) {
  std::array<int, 3> decimals{};
  bool is_plain = true;
  for (std::size_t i = 0; i < 3; ++i) {
    const int leading = leading_digits(values[i]);
    decimals[i] = 10 - leading;
    is_plain = is_plain && leading >= 0 && leading < 10;
  }
  // A value that gains a digit by rounding is a character longer.
  if (is_plain && std::snprintf(out, 61, "%16.*f    %16.*f    %16.*f    ", decimals[0], values[0], decimals[1],
                                values[1], decimals[2], values[2]) == 60) {
    for (std::size_t i = 0; i < 3; ++i) {
      const char first = out[20 * i + 4];
      is_plain = is_plain && (std::fabs(values[i]) < 1 ? first == '0' : first == ' ' || first == '-');
    }
    if (is_plain) return;
  }
  for (std::size_t i = 0; i < 3; ++i) std::memcpy(out + 20 * i, g20_10_by_printf(values[i]).data(), 20);
}

}  // namespace tessera::io::text
