#include "tessera/app/numbers_text.h"

#include <fmt/format.h>

#include <cmath>

namespace tessera::app {

double ns_per_day(double picoseconds, double seconds) { return seconds > 0 ? picoseconds / 1000 * 86400 / seconds : 0; }

std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 3e9) return "unknown time";
  const auto s = std::llround(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86400, s / 3600 % 24);
}

std::string size_text(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 1e5) return fmt::format("{:.1f} kB", value / 1e3);
  return value < 1e9 ? fmt::format("{:.1f} MB", value / 1e6) : fmt::format("{:.1f} GB", value / 1e9);
}

}  // namespace tessera::app
