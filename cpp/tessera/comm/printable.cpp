#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "tessera/comm/job.h"

namespace tessera::comm {

namespace {

/// Tells whether a terminal would act on a character instead of showing it: control characters, separators of lines,
/// and marks that change the direction of writing.
bool acts_on_terminals(std::uint32_t code) {
  constexpr std::array<std::array<std::uint32_t, 2>, 6> ranges = {
      {{0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}}};
  return std::any_of(ranges.begin(), ranges.end(), [&](auto range) { return code >= range[0] && code <= range[1]; });
}

/// Returns how many bytes of a text in UTF-8 are its first character, and the character; 0 bytes where these are none.
std::pair<std::size_t, std::uint32_t> first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(text[i])}; };
  const auto first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < n) return {0, first};
  auto code = first & (0x7fu >> n);
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) return {0, first};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[n] || code > 0x10ffff || is_surrogate) return {0, first};
  return {n, code};
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto [n, code] = first_character(text);
    if (n == 0)
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", code);
    else if (acts_on_terminals(code) && !(code == '\n' && lines == Lines::many))
      fmt::format_to(std::back_inserter(shown), "\\u{:04x}", code);
    else
      shown += text.substr(0, n);
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return shown;
}

}  // namespace tessera::comm
