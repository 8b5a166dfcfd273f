#include "tessera/md/device/device_atoms.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/fixed_point.h"
#include "tessera/base/index.h"

namespace tessera::md {

DeviceAtoms::DeviceAtoms(ThreadPool& threads, device::DeviceInUse& in_use, std::size_t n_groups)
    : threads_(threads),
      in_use_(in_use),
      stream_(device()),
      position_(device()),
      host_position_(device()),
      displacement_(in_use.kernels().find("tessera_displacement")),
      move_(in_use.kernels().find("tessera_move")),
      renumber_(in_use.kernels().find("tessera_renumber")),
      reference_(device()),
      check_(device(), 1),
      host_check_(device()),
      checked_(device()) {
  host_check_.resize(device(), 1);
  for (std::size_t g = 0; g < n_groups; ++g)
    groups_.push_back({device::GrowingArray<std::int64_t>(device()), device::HostArray<std::int64_t>(device())});
}

DeviceAtoms::~DeviceAtoms() { stream_.end(); }

void DeviceAtoms::rebuild(std::size_t n_slots) {
  device();
  stream_.wait();  // a step that was broken off may still be at work
  position_.reserve(device(), n_slots);
  make_room(n_slots);
}

/// Makes room for forces on so many slots, and on the host for what is fetched.
void DeviceAtoms::make_room(std::size_t n_slots) {
  const auto& on = device();
  n_slots_ = static_cast<std::int32_t>(n_slots);
  host_position_.resize(on, n_slots);
  for (auto& [total, host_total] : groups_) {
    total.reserve(on, 3 * n_slots);
    host_total.resize(on, 3 * n_slots);
  }
}

Fraction* DeviceAtoms::next_reference(std::int32_t n_slots) {
  reference_.reserve(device(), at(n_slots));
  return reference_.data();
}

void DeviceAtoms::take_next(std::int32_t n_slots) {
  position_.take_next();
  n_references_ = at(n_slots);
  make_room(at(n_slots));
}

void DeviceAtoms::renumber(std::int32_t* slots, std::int64_t n, const Renumbering& to) const {
  device();
  TESSERA_CHECK(n < std::int64_t{1} << 31);  // kernels number values in 32 bits
  const RenumberArguments arguments{.n = static_cast<std::int32_t>(n), .slot = to.slot, .values = slots};
  renumber_.start_warps(stream_, device::warps_of(n), arguments);
}

void DeviceAtoms::start(std::span<const Fraction> position, GroupSet due) {
  start_positions(position);
  start_forces(due);
}

void DeviceAtoms::start_positions(std::span<const Fraction> position) {
  device();
  if (is_at_work_) stream_.wait();  // that step was broken off
  is_at_work_ = true;
  const auto staged = host_position_.get();
  TESSERA_CHECK(position.size() == staged.size());
  threads_.copy(position, staged);
  position_.start_copy_from(staged, stream_);
}

void DeviceAtoms::start_forces(GroupSet due) {
  device();
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (due[g]) groups_[g].total.start_clear(stream_);
}

void DeviceAtoms::set_references(std::span<const Fraction> reference) {
  const auto& on = device();
  n_references_ = reference.size();
  reference_.reserve(on, n_references_);
  reference_.start_copy_from(reference, stream_);
  stream_.wait();  // what was copied may change now
}

void DeviceAtoms::start_check(const Box& box) {
  device();
  check_.start_clear(stream_);
  const DisplacementArguments arguments{.to_length = box.unit_vectors(),
                                        .n_slots = static_cast<std::int32_t>(n_references_),
                                        .position = position_.data(),
                                        .reference = reference_.data(),
                                        .check = check_.data()};
  displacement_.start_warps(stream_, device::warps_of(arguments.n_slots), arguments);
}

void DeviceAtoms::start_fetch_of_check() {
  check_.start_copy_to(host_check_.get(), stream_);
  checked_.record(stream_);
}

AtomCheck DeviceAtoms::wait_for_check() const {
  device();
  checked_.wait();
  return host_check_.get().front();
}

void DeviceAtoms::start_fetch_of_positions() {
  device();
  position_.start_copy_to(host_position_.get(), stream_);
}

void DeviceAtoms::start_fetch(GroupSet groups) const {
  device();
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (groups[g]) groups_[g].total.start_copy_to(groups_[g].host_total.get(), stream_);
}

void DeviceAtoms::fetch(GroupSet groups) {
  start_fetch(groups);
  stream_.wait();
  is_at_work_ = false;
}

void DeviceAtoms::add_to(std::size_t group, std::span<std::int64_t> total) const {
  const auto found = groups_[group].host_total.get();
  threads_.parallel_for(std::ssize(found), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) add_fixed(total[at(i)], found[at(i)]);
  });
}

std::int64_t DeviceAtoms::bytes() const {
  auto bytes = position_.bytes() + reference_.bytes();
  for (const auto& group : groups_) bytes += group.total.bytes();
  return static_cast<std::int64_t>(bytes);
}

std::size_t DeviceAtoms::host_bytes() const {
  auto bytes = host_position_.bytes();
  for (const auto& group : groups_) bytes += group.host_total.bytes();
  return bytes;
}

double DeviceAtoms::planned_bytes(std::int64_t slots, std::size_t n_groups) {
  const auto of_slot = sizeof(Fraction) + 3 * sizeof(std::int64_t) * n_groups;
  return device::GrowingArray<char>::room * static_cast<double>(of_slot) * static_cast<double>(slots);
}

}  // namespace tessera::md
