#include "tessera/programs/io/candidates.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "tessera/base/error.h"
#include "tessera/programs/io/bench_methods.h"
#include "tessera/programs/io/library_methods.h"

namespace tessera::programs {

namespace {

const io::write::Method& method_named(const std::string& name) {
  static const auto methods = bench_methods();
  for (const auto* one : library_methods())
    if (name == one->name) return *one;
  return find_named(methods, name, "write method");
}

}  // namespace

Candidate candidate_of(const std::string& text, const io::write::WriteOptions& usual) {
  std::istringstream words(text);
  std::string word;
  std::getline(words, word, ':');
  Candidate candidate{text, &method_named(word), usual};
  while (std::getline(words, word, ':')) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    const auto number = equals == std::string::npos ? "" : word.substr(equals + 1);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size() || value < 1 || value > (std::int64_t{1} << 40))
      throw InputError(fmt::format("{}: \"{}\" is no option; write {}=1 or more", text, word, key));
    if (key == "writers")
      candidate.options.writers = static_cast<int>(std::min<std::int64_t>(value, 1 << 30));
    else if (key == "batch")
      candidate.options.batch = value;
    else if (key == "buffer")
      candidate.options.buffer = value;
    else
      throw InputError(fmt::format("{}: no option is called \"{}\"; {}", text, key,
                                   suggestion(key, {"writers", "batch", "buffer"})));
  }
  return candidate;
}

}  // namespace tessera::programs
