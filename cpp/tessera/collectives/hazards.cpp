#include "tessera/collectives/hazards.h"

#include <algorithm>

namespace tessera::collectives {

Hazards::Hazards(const MessagePlan& plan, int first_rank, int count)
    : first_rank_(first_rank), rows_(static_cast<std::size_t>(count) * 3) {
  const auto is_tracked = [&](int rank) { return rank >= first_rank && rank < first_rank + count; };
  const auto cut = [&](Buffer buffer, std::int64_t begin, std::int64_t length) {
    auto& cuts = cuts_[static_cast<std::size_t>(buffer)];
    // Most messages begin in the same interval as the message before.
    const auto n = cuts.size();
    if (n > 0 && cuts[n - 2] == begin && cuts[n - 1] == begin + length) return;
    cuts.insert(cuts.end(), {begin, begin + length});
  };
  for (const auto& message : plan.messages) {
    if (is_tracked(message.from)) cut(message.source, message.begin, message.length);
    if (is_tracked(message.to)) cut(message.target, message.at, message.length);
  }
  for (auto& cuts : cuts_) {
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }
}

std::pair<std::size_t, std::size_t> Hazards::pieces(Buffer buffer, std::int64_t begin, std::int64_t length) const {
  const auto& cuts = cuts_[static_cast<std::size_t>(buffer)];
  const auto index = [&](std::int64_t at) {
    return static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), at) - cuts.begin());
  };
  return {index(begin), index(begin + length)};
}

void Hazards::read(int index, int rank, Buffer buffer, std::int64_t begin, std::int64_t length,
                   std::vector<int>& waits_for) {
  auto& row = this->row(rank, buffer);
  const auto [first, last] = pieces(buffer, begin, length);
  for (auto i = first; i < last; ++i) {
    if (row[i].writer >= 0) waits_for.push_back(row[i].writer);
    pool_.emplace_back(index, row[i].readers);
    row[i].readers = static_cast<int>(pool_.size()) - 1;
  }
}

void Hazards::write(int index, int rank, Buffer buffer, std::int64_t begin, std::int64_t length,
                    std::vector<int>& waits_for) {
  auto& row = this->row(rank, buffer);
  const auto [first, last] = pieces(buffer, begin, length);
  for (auto i = first; i < last; ++i) {
    if (row[i].writer >= 0) waits_for.push_back(row[i].writer);
    for (int at = row[i].readers; at >= 0; at = pool_[static_cast<std::size_t>(at)].second)
      if (const int reader = pool_[static_cast<std::size_t>(at)].first; reader != index) waits_for.push_back(reader);
    row[i] = {index, -1};
  }
}

}  // namespace tessera::collectives
