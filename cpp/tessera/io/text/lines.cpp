#include "tessera/io/text/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>
#include <type_traits>

#include "tessera/base/error.h"
#include "tessera/comm/job.h"

namespace tessera::io::text {

namespace {

constexpr std::size_t piece_bytes = 262'144;  // which stays in the processor's cache until it is parsed

bool is_blank(char c) { return c == ' ' || c == '\t'; }

template <class Value>
bool read(std::string_view text, Value& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Reads a number with an exponent of Fortran: the letter is D, or is left out where three digits follow.
bool read_of_fortran(std::string_view text, double& value) {
  std::string words(text);
  if (const auto letter = words.find_first_of("dD"); letter != std::string::npos)
    words[letter] = 'e';
  else if (const auto sign = words.find_first_of("+-", 1); sign != std::string::npos)
    words.insert(sign, 1, 'e');
  const auto sign = words.find("e+");  // which from_chars reads, too
  return read(sign == std::string::npos ? words : words.erase(sign + 1, 1), value);
}

/// Reads a number as C++ or, where it may have an exponent, as Fortran writes it.
template <class Value>
bool read_either(std::string_view text, Value& value) {
  if (read(text, value)) return true;
  if constexpr (std::is_floating_point_v<Value>) return !text.empty() && read_of_fortran(text, value);
  return false;
}

}  // namespace

bool Lines::read_more() {
  if (file_ == nullptr || read_to_ >= end_) return false;
  const auto n_left = rest_.size();
  // A line that is longer than a piece is joined from many.
  const auto n_more = std::min(static_cast<std::size_t>(end_ - read_to_), std::max(piece_bytes, n_left));
  if (piece_.size() < n_left + n_more) {
    std::string larger(n_left + n_more, '\0');
    std::copy(rest_.begin(), rest_.end(), larger.begin());
    piece_.swap(larger);
  } else {
    std::copy(rest_.begin(), rest_.end(), piece_.begin());
  }
  const auto n_read = file_->read_at(piece_.data() + n_left, n_more, read_to_);
  read_to_ = n_read == 0 ? end_ : read_to_ + static_cast<std::int64_t>(n_read);
  rest_ = std::string_view(piece_).substr(0, n_left + n_read);
  return n_read > 0;
}

bool Lines::is_at_end() {
  do {
    if (rest_.find_first_not_of(" \t\r\n") != std::string_view::npos) return false;
  } while (read_more());
  return true;
}

std::string_view Lines::next(const char* expected) {
  auto end = rest_.find('\n');
  while (end == std::string_view::npos) {
    const auto n_seen = rest_.size();
    if (!read_more()) break;
    end = rest_.find('\n', n_seen);
  }
  if (rest_.empty()) throw InputError(fmt::format("{}: ends after line {}, expected {}", name_, number_, expected));
  auto line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  words_ = line;
  return line;
}

void Lines::skip_blanks() {
  const char *at = words_.data(), *const end = at + words_.size();
  while (at != end && is_blank(*at)) ++at;
  words_ = {at, end};
}

bool Lines::take(std::string_view beginning) {
  skip_blanks();
  if (!words_.starts_with(beginning)) return false;
  words_.remove_prefix(beginning.size());
  return true;
}

std::string_view Lines::word() {
  skip_blanks();
  const auto word = words_.substr(0, words_.find_first_of(" \t"));
  words_.remove_prefix(word.size());
  return word;
}

template <class Value>
Value Lines::number(const char* expected) {
  skip_blanks();
  Value value{};
  // Nearly all words are read as they stand, without a look for their end.
  const auto [end, error] = std::from_chars(words_.data(), words_.data() + words_.size(), value);
  const auto n_read = static_cast<std::size_t>(end - words_.data());
  if (error == std::errc() && (n_read == words_.size() || is_blank(*end))) {
    words_.remove_prefix(n_read);
    return value;
  }
  auto text = word();
  if (text.starts_with('+')) text.remove_prefix(1);
  if (read_either(text, value)) return value;
  throw InputError(fmt::format("{}: line {} has {}, expected {}", name_, number_,
                               text.empty() ? "nothing more" : fmt::format("\"{}\"", comm::printable(text)), expected));
}

template <class Value>
std::optional<Value> Lines::number_if_any(const char* expected) {
  skip_blanks();
  return words_.empty() ? std::nullopt : std::optional(number<Value>(expected));
}

template int Lines::number(const char* expected);
template std::int64_t Lines::number(const char* expected);
template double Lines::number(const char* expected);
template std::optional<std::int64_t> Lines::number_if_any(const char* expected);
template std::optional<double> Lines::number_if_any(const char* expected);

template <class Value>
std::optional<Value> Lines::number_if_it_is() {
  Value value{};
  return read_either(word(), value) ? std::optional(value) : std::nullopt;
}

template std::optional<std::int64_t> Lines::number_if_it_is();
template std::optional<double> Lines::number_if_it_is();

void Lines::three(double* values, const char* expected) {
  next(expected);
  for (int k = 0; k < 3; ++k) values[k] = number<double>(expected);
}

void Lines::refuse(const std::string& what) const {
  throw InputError(fmt::format("{}: line {}: {}", name_, number_, comm::printable(what)));
}

}  // namespace tessera::io::text
