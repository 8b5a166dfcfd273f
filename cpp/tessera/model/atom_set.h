// A set of atoms, as ranges of consecutive ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera::model {

class AtomSet {
 public:
  /// Both ends belong to the range.
  struct Range {
    std::int64_t first, last;

    friend bool operator==(const Range&, const Range&) = default;
  };

  AtomSet() = default;
  /// Makes a set of ranges, which may overlap and have any order.
  explicit AtomSet(std::vector<Range> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& p, const Range& q) { return p.first < q.first; });
    for (const auto& range : ranges) {
      if (range.last < range.first) continue;
      if (!ranges_.empty() && range.first <= ranges_.back().last + 1)
        ranges_.back().last = std::max(ranges_.back().last, range.last);
      else
        ranges_.push_back(range);
    }
    for (const auto& range : ranges_) size_ += range.last - range.first + 1;
  }

  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Returns the ranges in rising order, with a gap between each two.
  const std::vector<Range>& ranges() const { return ranges_; }
  bool contains(std::int64_t id) const {
    if (empty() || id < ranges_.front().first || id > ranges_.back().last) return false;
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), id,
                                        [](std::int64_t value, const Range& range) { return value < range.first; });
    return id <= std::prev(after)->last;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& range : ranges_)
      for (auto id = range.first; id <= range.last; ++id) visit(id);
  }

  friend bool operator==(const AtomSet&, const AtomSet&) = default;

  friend AtomSet intersection(const AtomSet& p, const AtomSet& q) {
    std::vector<Range> both;
    for (auto i = p.ranges_.begin(), j = q.ranges_.begin(); i != p.ranges_.end() && j != q.ranges_.end();) {
      both.push_back(
          {std::max(i->first, j->first), std::min(i->last, j->last)});  // the constructor leaves empty ones out
      i->last < j->last ? ++i : ++j;
    }
    return AtomSet(std::move(both));
  }

 private:
  std::vector<Range> ranges_;
  std::int64_t size_ = 0;
};

}  // namespace tessera::model
