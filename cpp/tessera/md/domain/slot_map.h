// Atom id → local slot: open addressing, rebuilt at every search. Four ids that follow each other stand together:
// whoever looks for an atom of a water, or of a hydrogen group, looks for the others too.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace tessera::md::domain {

class SlotMap {
 public:
  void reset(std::size_t expected) {
    const std::size_t capacity = std::bit_ceil(expected + expected / 3 + 16);  // at most three quarters full
    entries_.assign(capacity, {-1, -1});
    shift_ = 64 - std::countr_zero(capacity / ids_together);
  }
  void insert(std::int64_t id, std::int32_t slot) {
    std::size_t at = place(id);
    while (entries_[at].id >= 0) at = (at + 1) & (entries_.size() - 1);
    entries_[at] = {id, slot};
  }
  /// The slot of an atom, or −1 where it isn't on this rank.
  std::int32_t find(std::int64_t id) const {
    if (entries_.empty()) return -1;
    std::size_t at = place(id);
    while (entries_[at].id >= 0) {
      if (entries_[at].id == id) return entries_[at].slot;
      at = (at + 1) & (entries_.size() - 1);
    }
    return -1;
  }
  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    std::int64_t id;
    std::int32_t slot;
  };
  static constexpr std::size_t ids_together = 64 / sizeof(Entry);
  std::size_t place(std::int64_t id) const {
    const auto i = static_cast<std::uint64_t>(id);
    return (((i / ids_together) * 0x9E3779B97F4A7C15ull) >> shift_) * ids_together + i % ids_together;
  }
  std::vector<Entry> entries_;
  int shift_ = 63;
};

}  // namespace tessera::md::domain
