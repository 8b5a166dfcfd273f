// Maps atom ids to slots by open addressing; the map is rebuilt at every search. It stores slots alone and reads ids
// from the list. Four consecutive ids are stored together, because a lookup of one atom of a water or of a hydrogen
// group is followed by lookups of the others.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

namespace tessera::md::domain {

class SlotMap {
 public:
  /// Removes all entries.
  void reset(std::size_t expected) {
    const std::size_t capacity = capacity_for(expected);
    slots_.assign(capacity, -1);
    shift_ = 64 - std::countr_zero(capacity / ids_together);
  }
  /// Inserts an entry; several threads may insert different ids at once.
  void insert(std::int64_t id, std::int32_t slot) {
    for (std::size_t at = place(id);; at = (at + 1) & (slots_.size() - 1)) {
      const std::atomic_ref<std::int32_t> here(slots_[at]);
      auto free = here.load(std::memory_order_relaxed);
      if (free < 0 && here.compare_exchange_strong(free, slot, std::memory_order_relaxed)) return;
    }
  }
  /// Returns the slot of an atom, or −1 if it isn't on this rank. `id_of(slot)` is the id of the atom in a slot.
  template <class IdOf>
  std::int32_t find(std::int64_t id, IdOf&& id_of) const {
    if (slots_.empty()) return -1;
    std::size_t at = place(id);
    while (slots_[at] >= 0 && id_of(slots_[at]) != id) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  /// Prefetches the cache line that find() or insert() will read first.
  void prefetch(std::int64_t id) const { __builtin_prefetch(slots_.data() + place(id)); }
  std::size_t bytes() const { return slots_.capacity() * sizeof(std::int32_t); }
  static std::size_t planned_bytes(std::size_t expected) { return capacity_for(expected) * sizeof(std::int32_t); }

 private:
  static constexpr std::size_t ids_together = 4;
  static std::size_t capacity_for(std::size_t expected) {
    return std::bit_ceil(expected + expected / 3 + 16);  // at most three quarters full
  }
  std::size_t place(std::int64_t id) const {
    const auto i = static_cast<std::uint64_t>(id);
    return (((i / ids_together) * 0x9E3779B97F4A7C15ull) >> shift_) * ids_together + i % ids_together;
  }
  std::vector<std::int32_t> slots_;
  int shift_ = 63;
};

}  // namespace tessera::md::domain
