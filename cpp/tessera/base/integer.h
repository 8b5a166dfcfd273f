// Whole numbers in text that people write.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <system_error>

#include "tessera/base/error.h"

namespace tessera {

/// Reads all of `text` as a whole number; `where` is the place that messages name. Throws InputError.
template <class Integer>
Integer integer_of(const std::string& text, const std::string& where) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw InputError(fmt::format("{}: \"{}\" is no integer", where, text));
  return value;
}

}  // namespace tessera
