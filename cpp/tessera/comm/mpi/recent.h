// A small store of what was made last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace tessera::comm::mpi {

/// Keeps at most so many values; a further one takes the place of the one that was asked for longest ago. References
/// stay valid as long as their value is kept.
template <class Value>
class Recent {
 public:
  explicit Recent(std::size_t capacity) : capacity_(std::max<std::size_t>(1, capacity)) {}

  /// Returns the value that was made for this key and for which `is` holds, or else a new one from `make`. Keys differ
  /// where values do, almost always, so that values need not be looked at.
  template <class Is, class Make>
  Value& find(std::uint64_t key, Is&& is, Make&& make) {
    ++now_;
    std::size_t place = 0;
    while (place < keys_.size() && !(keys_[place] == key && is(kept_[place]))) ++place;
    if (place == keys_.size()) {
      auto fresh = make();
      if (place < capacity_) {
        kept_.push_back(std::move(fresh));
        keys_.push_back(key);
        asked_.push_back(0);
      } else {
        place = static_cast<std::size_t>(std::min_element(asked_.begin(), asked_.end()) - asked_.begin());
        kept_[place] = std::move(fresh);
        keys_[place] = key;
      }
    }
    asked_[place] = now_;
    return kept_[place];
  }

 private:
  std::size_t capacity_;
  std::uint64_t now_ = 0;
  std::vector<std::uint64_t> keys_, asked_;  // of the values; when they were asked for
  std::deque<Value> kept_;
};

}  // namespace tessera::comm::mpi
