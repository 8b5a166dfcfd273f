#include "tessera/app/explain/other_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "tessera/base/error.h"

namespace tessera::app {

std::string OtherLayout::text() const { return fmt::format("{} × {}: {:.3g} ms", ranks, threads, 1e3 * seconds); }

std::vector<OtherLayout> other_layouts(int ranks, int threads, const std::function<double(int, int)>& predict) {
  constexpr std::int64_t most_ranks = 4096, most_threads = 64;  // of more ranks a plan takes seconds
  constexpr std::size_t most_told = 4;
  const auto cores = std::int64_t{ranks} * threads;
  std::vector<OtherLayout> layouts;
  for (std::int64_t its_threads = 1; its_threads <= std::min(cores, most_threads); its_threads *= 2) {
    if (cores % its_threads != 0 || its_threads == threads || cores / its_threads > most_ranks) continue;
    const OtherLayout other{static_cast<int>(cores / its_threads), static_cast<int>(its_threads), 0};
    try {
      layouts.push_back({other.ranks, other.threads, predict(other.ranks, other.threads)});
    } catch (const InputError&) {  // the box has too few cells for so many ranks
    }
  }
  std::stable_sort(layouts.begin(), layouts.end(),
                   [](const OtherLayout& a, const OtherLayout& b) { return a.seconds < b.seconds; });
  layouts.resize(std::min(layouts.size(), most_told));
  return layouts;
}

}  // namespace tessera::app
