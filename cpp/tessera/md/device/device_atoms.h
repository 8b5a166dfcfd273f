// Holds on a GPU where a rank's atoms are, and the forces on them that its kernels add to (docs/design/gpu.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/base/threads.h"
#include "tessera/device/device.h"
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

  /// Makes room for so many slots, after a search.
  void rebuild(std::size_t n_slots);
  /// Begins to take positions by slot, and to clear the forces of the groups that are due.
  void start(std::span<const Fraction> position, GroupSet due);
  /// Returns the device's memory: positions by slot, and (slots,3) forces of a group in units of force_unit.
  const Fraction* position() const { return position_.data(); }
  std::int64_t* total(std::size_t group) const { return groups_[group].total.data(); }
  /// Waits until all is done that has begun, and takes the forces of some groups.
  void fetch(GroupSet groups);
  /// Adds the forces that were fetched.
  void add_to(std::size_t group, std::span<std::int64_t> total) const;

  /// Returns the bytes on the device, and those on the host.
  std::int64_t bytes() const;
  std::size_t host_bytes() const;
  /// Predicts bytes() for so many slots.
  static double planned_bytes(std::int64_t slots, std::size_t n_groups);

 private:
  struct Group {
    device::GrowingArray<std::int64_t> total;
    device::HostArray<std::int64_t> host_total;
  };

  ThreadPool& threads_;
  device::DeviceInUse& in_use_;
  device::Stream stream_;
  device::GrowingArray<Fraction> position_;
  device::HostArray<Fraction> host_position_;
  std::vector<Group> groups_;
  bool is_at_work_ = false;  // what start() began may not have ended
};

}  // namespace tessera::md
