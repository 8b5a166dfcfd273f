#include "tessera/io/text/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>
#include <type_traits>

#include "tessera/base/error.h"

namespace tessera::io::text {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

template <class Value>
bool read(std::string_view text, Value& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// A number with an exponent of Fortran: the letter is D, or is left out where three digits follow.
bool read_of_fortran(std::string_view text, double& value) {
  std::string words(text);
  if (const auto letter = words.find_first_of("dD"); letter != std::string::npos)
    words[letter] = 'e';
  else if (const auto sign = words.find_first_of("+-", 1); sign != std::string::npos)
    words.insert(sign, 1, 'e');
  const auto sign = words.find("e+");  // which from_chars reads, too
  return read(sign == std::string::npos ? words : words.erase(sign + 1, 1), value);
}

}  // namespace

bool Lines::is_at_end() const { return rest_.find_first_not_of(" \t\r\n") == std::string_view::npos; }

std::string_view Lines::next(const char* expected) {
  if (rest_.empty()) throw InputError(fmt::format("{}: ends after line {}, expected {}", name_, number_, expected));
  const auto end = rest_.find('\n');
  auto line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  words_ = line;
  return line;
}

std::string_view Lines::word() {
  const char *at = words_.data(), *const end = at + words_.size();
  while (at != end && is_blank(*at)) ++at;
  const char* const begin = at;
  while (at != end && !is_blank(*at)) ++at;
  words_.remove_prefix(static_cast<std::size_t>(at - words_.data()));
  return {begin, static_cast<std::size_t>(at - begin)};
}

template <class Value>
Value Lines::number(std::string_view text, const char* expected) const {
  Value value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  if (read(text, value)) return value;
  if constexpr (std::is_floating_point_v<Value>)
    if (!text.empty() && read_of_fortran(text, value)) return value;
  throw InputError(fmt::format("{}: line {} has {}, expected {}", name_, number_,
                               text.empty() ? "nothing more" : fmt::format("\"{}\"", text), expected));
}

template int Lines::number(std::string_view text, const char* expected) const;
template std::int64_t Lines::number(std::string_view text, const char* expected) const;
template double Lines::number(std::string_view text, const char* expected) const;

void Lines::three(double* values, const char* expected) {
  next(expected);
  for (int k = 0; k < 3; ++k) values[k] = number<double>(word(), expected);
}

void Lines::refuse(const std::string& what) const {
  throw InputError(fmt::format("{}: line {}: {}", name_, number_, what));
}

}  // namespace tessera::io::text
