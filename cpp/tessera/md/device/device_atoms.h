// Holds on a GPU where a rank's atoms are, and the forces on them that its kernels add to (docs/design/gpu.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/base/threads.h"
#include "tessera/device/device.h"
#include "tessera/md/device/check_kernel.h"
#include "tessera/md/device/renumber_kernel.h"
#include "tessera/md/device/renumbering.h"
#include "tessera/md/device/slot_array.h"
#include "tessera/md/force_groups.h"

namespace tessera::md {

/// All is done in one stream, so that each kernel finds what was begun before it. The threads and the device must outlive
/// it. Its members throw RunError.
class DeviceAtoms {
 public:
  DeviceAtoms(ThreadPool& threads, device::DeviceInUse& in_use, std::size_t n_groups);
  /// Waits until the device does nothing with what goes now.
  ~DeviceAtoms();

  device::DeviceInUse& in_use() const { return in_use_; }
  /// Returns the device, for members of what uses it on this thread.
  const device::Device& device() const { return in_use_.device().made_current(); }
  const device::Stream& stream() const { return stream_; }

  /// Makes room for so many slots, after a search by processors.
  void rebuild(std::size_t n_slots);
  std::int32_t n_slots() const { return n_slots_; }
  /// Begins to take positions by slot, and to clear the forces of the groups that are due.
  void start(std::span<const Fraction> position, GroupSet due);
  /// Begins to take positions by slot.
  void start_positions(std::span<const Fraction> position);
  /// Begins to clear the forces of the groups that are due.
  void start_forces(GroupSet due);
  /// Returns the device's memory: positions by slot, and (slots,3) forces of a group in units of force_unit.
  Fraction* position() const { return position_.data(); }
  std::int64_t* total(std::size_t group) const { return groups_[group].total.data(); }
  /// Begins to fetch the forces of some groups.
  void start_fetch(GroupSet groups) const;
  /// Waits until all is done that has begun, and takes the forces of some groups.
  void fetch(GroupSet groups);
  /// Adds the forces that were fetched.
  void add_to(std::size_t group, std::span<std::int64_t> total) const;

  /// Returns the forces of a group that were fetched.
  std::span<const std::int64_t> fetched(std::size_t group) const { return groups_[group].host_total.get(); }

  // What follows is for atoms that the device moves by itself (integrate/device/device_motion.h).

  /// Takes where owned atoms were at the last search, from which they are looked at.
  void set_references(std::span<const Fraction> reference);
  /// Begins to look how far atoms have moved since then. Other kernels add to check() until start_fetch_of_check().
  void start_check(const Box& box);
  AtomCheck* check() const { return check_.data(); }
  void start_fetch_of_check();
  /// Waits until that has been found. What was begun after it goes on meanwhile.
  AtomCheck wait_for_check() const;
  /// Begins to fetch positions by slot, which staged_positions() has once all has been waited for.
  void start_fetch_of_positions();
  std::span<const Fraction> staged_positions() const { return host_position_.get(); }

  // What follows is for searches by the device (domain/device/device_search.h).

  /// Returns memory for positions by slot, and for where atoms are looked at from, in slots that the device has sorted
  /// them into.
  Fraction* next_position(std::int32_t n_slots) { return position_.next(device(), static_cast<std::size_t>(n_slots)); }
  Fraction* next_reference(std::int32_t n_slots);
  /// Takes these, and makes room for forces on so many slots.
  void take_next(std::int32_t n_slots);
  /// Begins to fetch where atoms were at the last search, to memory that stays until then.
  void start_fetch_of_references(std::span<Fraction> reference) const { reference_.start_copy_to(reference, stream_); }
  /// Begins to move values to the slots of their atoms. Padding gets words of 32 bits that are all the same.
  template <class T>
  void move(SlotArray<T>& values, const Renumbering& to, std::uint32_t padding = 0) const {
    static_assert(sizeof(T) % sizeof(std::uint32_t) == 0);
    const MoveArguments arguments{
        .n_slots = to.n_slots,
        .source = to.source,
        .words = sizeof(T) / sizeof(std::uint32_t),
        .padding = padding,
        .from = reinterpret_cast<const std::uint32_t*>(values.data()),
        .to = reinterpret_cast<std::uint32_t*>(values.next(device(), static_cast<std::size_t>(to.n_slots))),
    };
    move_.start_warps(stream_, device::warps_of(to.n_slots), arguments);
    values.take_next();
  }
  /// Begins to change slots to those where their atoms are now.
  void renumber(std::int32_t* slots, std::int64_t n, const Renumbering& to) const;

  /// Returns the bytes on the device, and those on the host.
  std::int64_t bytes() const;
  std::size_t host_bytes() const;
  /// Predicts bytes() for so many slots.
  static double planned_bytes(std::int64_t slots, std::size_t n_groups);
  /// Predicts what set_references() and next_position() add.
  static double planned_bytes_of_checks(std::int64_t slots) {
    return device::GrowingArray<char>::room * 2 * sizeof(Fraction) * static_cast<double>(slots);
  }

 private:
  struct Group {
    device::GrowingArray<std::int64_t> total;
    device::HostArray<std::int64_t> host_total;
  };

  void make_room(std::size_t n_slots);

  ThreadPool& threads_;
  device::DeviceInUse& in_use_;
  device::Stream stream_;
  std::int32_t n_slots_ = 0;
  SlotArray<Fraction> position_;
  device::HostArray<Fraction> host_position_;
  std::vector<Group> groups_;
  bool is_at_work_ = false;  // what start() began may not have ended
  device::Kernel displacement_, move_, renumber_;
  std::size_t n_references_ = 0;
  device::GrowingArray<Fraction> reference_;
  device::DeviceArray<AtomCheck> check_;     // (1)
  device::HostArray<AtomCheck> host_check_;  // (1)
  device::Event checked_;
};

}  // namespace tessera::md
