// A small store of what was made last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace tessera::comm::mpi {

/// Keeps at most so many values; a further one takes the place of the one that was asked for longest ago. References
/// stay valid as long as their value is kept.
template <class Value>
class Recent {
 public:
  explicit Recent(std::size_t capacity) : capacity_(std::max<std::size_t>(1, capacity)) {}

  /// Returns the value for which `is` holds, or else a new one from `make`.
  template <class Is, class Make>
  Value& find(Is&& is, Make&& make) {
    ++now_;
    auto place = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return is(kept.value); });
    if (place == kept_.end()) {
      auto fresh = make();
      if (kept_.size() < capacity_) {
        kept_.push_back({std::move(fresh), 0});
        place = kept_.end() - 1;
      } else {
        place = std::min_element(kept_.begin(), kept_.end(), [](auto& a, auto& b) { return a.asked < b.asked; });
        place->value = std::move(fresh);
      }
    }
    place->asked = now_;
    return place->value;
  }

 private:
  struct Kept {
    Value value;
    std::uint64_t asked = 0;  // when
  };

  std::size_t capacity_;
  std::uint64_t now_ = 0;
  std::deque<Kept> kept_;
};

}  // namespace tessera::comm::mpi
