#include "tessera/grid/choice/messages.h"

#include <algorithm>
#include <map>

#include "tessera/base/error.h"

namespace tessera::grid {

HaloMessages::HaloMessages(const GridLayout& layout, const HaloShape& shape) : layout_(layout), shape_(shape) {
  for (std::size_t d = 0; d < 3; ++d) {
    auto& begin = begin_[d];
    for (const auto& box : layout.boxes)
      if (!box.is_empty()) begin.push_back(box.lower[d]);
    std::sort(begin.begin(), begin.end());
    begin.erase(std::unique(begin.begin(), begin.end()), begin.end());
  }
  rank_at_.assign(begin_[0].size() * begin_[1].size() * begin_[2].size(), -1);
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    const auto& box = layout.boxes[static_cast<std::size_t>(rank)];
    if (box.is_empty()) continue;
    std::size_t place = 0;
    for (std::size_t d = 0; d < 3; ++d)
      place = place * begin_[d].size() +
              static_cast<std::size_t>(std::lower_bound(begin_[d].begin(), begin_[d].end(), box.lower[d]) -
                                       begin_[d].begin());
    rank_at_[place] = rank;
  }
  TESSERA_CHECK(std::find(rank_at_.begin(), rank_at_.end(), -1) == rank_at_.end());
}

std::vector<HaloMessages::Share> HaloMessages::shares(std::size_t d, std::int64_t lower, std::int64_t upper) const {
  const auto n = layout_.shape[d];
  if (!layout_.is_periodic[d]) {
    lower = std::clamp<std::int64_t>(lower, 0, n);
    upper = std::clamp<std::int64_t>(upper, 0, n);
  }
  const auto& begin = begin_[d];
  std::vector<Share> found;
  while (lower < upper) {
    const auto at = (lower % n + n) % n;
    const auto next = std::upper_bound(begin.begin(), begin.end(), at);
    const auto end = next == begin.end() ? n : *next;
    const auto points = std::min(upper - lower, end - at);
    found.push_back({next - begin.begin() - 1, points});
    lower += points;
  }
  return found;
}

std::vector<HaloMessage> HaloMessages::to(int rank) const {
  const auto& box = layout_.boxes[static_cast<std::size_t>(rank)];
  if (box.is_empty()) return {};
  std::map<int, HaloMessage> found;
  for (std::size_t direction = 0; direction < 3; ++direction)
    for (const bool is_above : {false, true}) {
      std::array<std::vector<Share>, 3> parts;
      for (std::size_t d = 0; d < 3; ++d) {
        const auto below = shape_.reach[0][d], above = shape_.reach[1][d];
        if (d != direction) {
          const bool is_wider = shape_.has_corners && d < direction;  // edges belong to the later direction
          parts[d] = shares(d, box.lower[d] - (is_wider ? below : 0), box.upper[d] + (is_wider ? above : 0));
        } else if (is_above) {
          parts[d] = shares(d, box.upper[d], box.upper[d] + above);
        } else {
          parts[d] = shares(d, box.lower[d] - below, box.lower[d]);
        }
      }
      for (const auto& x : parts[0])
        for (const auto& y : parts[1])
          for (const auto& z : parts[2]) {
            const auto place = (x.place * std::ssize(begin_[1]) + y.place) * std::ssize(begin_[2]) + z.place;
            const int from = rank_at_[static_cast<std::size_t>(place)];
            if (from == rank) continue;
            auto& message = found[from];
            message.from = from;
            message.to = rank;
            message.points[direction] += x.points * y.points * z.points;
          }
    }
  std::vector<HaloMessage> messages;
  for (const auto& [from, message] : found) messages.push_back(message);
  return messages;
}

}  // namespace tessera::grid
