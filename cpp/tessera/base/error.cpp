#include "tessera/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace tessera {

void fail_check(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("internal error: {} does not hold ({}:{})", condition, file, line));
}

namespace {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (const auto& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const auto nearest = nearest_word(word, known);
  return nearest.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                         : fmt::format("did you mean \"{}\"?", nearest);
}

void refuse_name(std::string_view what, const std::string& name, const std::vector<std::string>& known) {
  throw InputError(fmt::format("no {} is called \"{}\"; {}", what, name, suggestion(name, known)));
}

}  // namespace tessera
