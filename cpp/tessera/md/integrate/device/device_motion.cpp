#include "tessera/md/integrate/device/device_motion.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::md::integrate {

DeviceMotion::DeviceMotion(ThreadPool& threads, DeviceAtoms& atoms)
    : threads_(threads),
      atoms_(atoms),
      kick_and_drift_(find("tessera_kick_and_drift")),
      kick_and_drift_with_noise_(find("tessera_kick_and_drift_with_noise")),
      kick_and_project_(find("tessera_kick_and_project")),
      kick_and_project_with_virial_(find("tessera_kick_and_project_with_virial")),
      constraint_virial_(find("tessera_constraint_virial")),
      virial_within_(find("tessera_virial_within")),
      follow_box_(find("tessera_follow_box")),
      kinetic_energies_(atoms.in_use().kernels().find("tessera_kinetic_energies")),
      momentum_(atoms.in_use().kernels().find("tessera_momentum")),
      scale_(atoms.in_use().kernels().find("tessera_scale_velocities")),
      shift_(atoms.in_use().kernels().find("tessera_shift_velocities")),
      of_known_shape_{.lists = device::GrowingArray<GroupsOnDevice>(atoms.device())},
      of_any_{.lists = device::GrowingArray<GroupsOnDevice>(atoms.device())},
      slots_(atoms.device()),
      bath_(atoms.device()),
      id_(atoms.device()),
      inverse_mass_(atoms.device()),
      velocity_(atoms.device()),
      host_velocity_(atoms.device()),
      sums_(atoms.device(), 1),
      host_sums_(atoms.device()),
      virials_(atoms.device(), 1),
      host_virials_(atoms.device()),
      velocity_sums_(atoms.device(), 1),
      host_velocity_sums_(atoms.device()) {
  host_sums_.resize(atoms.device(), 1);
  host_virials_.resize(atoms.device(), 1);
  host_velocity_sums_.resize(atoms.device(), 1);
}

DeviceMotion::~DeviceMotion() { atoms_.stream().end(); }

DeviceMotion::Half DeviceMotion::find(const char* name) const {
  const auto& kernels = atoms_.in_use().kernels();
  return {kernels.find(name), kernels.find(std::string(name) + "_any")};
}

void DeviceMotion::set_groups(std::span<const constraint::GroupList> lists, std::span<const std::int64_t> id,
                              std::span<const double> inverse_mass, std::span<const std::uint8_t> bath) {
  const auto& on = atoms_.device();
  const auto& stream = atoms_.stream();
  stream.wait();  // the last ones may be in use
  std::vector<std::int32_t> slots;
  for (const auto& list : lists) slots.insert(slots.end(), list.slots.begin(), list.slots.end());
  slots_.reserve(on, slots.size());
  slots_.start_copy_from(slots, stream);
  n_slots_of_groups_ = std::ssize(slots);
  std::vector<GroupsOnDevice> known, any;
  std::int64_t first = 0, warps_of_known = 0, warps_of_any = 0;
  for (const auto& list : lists) {
    const bool is_known = has_known_shape(list.kind);
    auto& warps = is_known ? warps_of_known : warps_of_any;
    if (list.size() > 0)
      (is_known ? known : any)
          .push_back({list.kind, static_cast<std::int32_t>(list.size()), static_cast<std::int32_t>(warps),
                      slots_.data() + first});
    warps += device::warps_of(static_cast<std::int64_t>(list.size()));
    first += std::ssize(list.slots);
  }
  set_lists(of_known_shape_, known, warps_of_known);
  set_lists(of_any_, any, warps_of_any);
  id_.reserve(on, id.size());
  id_.start_copy_from(id, stream);
  inverse_mass_.reserve(on, inverse_mass.size());
  inverse_mass_.start_copy_from(inverse_mass, stream);
  const std::vector<std::int32_t> baths(bath.begin(), bath.end());
  has_baths_ = !baths.empty();
  bath_.reserve(on, baths.size());
  bath_.start_copy_from(baths, stream);
  velocity_.reserve(on, id.size());
  host_velocity_.resize(on, id.size());
  sums_.start_clear(stream);
  velocity_sums_.start_clear(stream);
  stream.wait();  // what was copied goes now
}

void DeviceMotion::set_lists(Lists& to, std::span<const GroupsOnDevice> lists, std::int64_t n_warps) {
  to.n_warps = n_warps;
  to.n = static_cast<std::int32_t>(lists.size());
  to.lists.reserve(atoms_.device(), lists.size());
  to.lists.start_copy_from(lists, atoms_.stream());
}

void DeviceMotion::follow(const Renumbering& to) {
  atoms_.move(velocity_, to);
  atoms_.move(id_, to, static_cast<std::uint32_t>(-1));
  atoms_.move(inverse_mass_, to);
  if (has_baths_) atoms_.move(bath_, to);
  atoms_.renumber(slots_.data(), n_slots_of_groups_, to);
  host_velocity_.resize(atoms_.device(), at(to.n_slots));
}

void DeviceMotion::start_from(const State& state) {
  atoms_.start_positions(state.position);
  const auto staged = host_velocity_.get();
  TESSERA_CHECK(state.velocity.size() == staged.size());
  threads_.copy(std::span(state.velocity), staged);
  velocity_.start_copy_from(staged, atoms_.stream());
}

/// Begins half a step with all groups.
template <class Arguments>
void DeviceMotion::start(const Half& half, Arguments arguments) const {
  atoms_.device();
  arguments.step.force = atoms_.total(0);
  arguments.step.velocity = velocity_.data();
  arguments.step.position = atoms_.position();
  arguments.sums = sums_.data();
  arguments.virials = virials_.data();
  for (const auto* of : {&of_known_shape_, &of_any_}) {
    arguments.lists = of->lists.data();
    arguments.n_lists = of->n;
    (of == &of_any_ ? half.of_any : half.of_known_shape).start_warps(atoms_.stream(), of->n_warps, arguments);
  }
}

void DeviceMotion::kick_and_drift(const HalfStep& step) { start(kick_and_drift_, MotionArguments{.step = step}); }

void DeviceMotion::kick_and_project(const HalfStep& step, bool with_virial) {
  start(with_virial ? kick_and_project_with_virial_ : kick_and_project_, MotionArguments{.step = step});
}

void DeviceMotion::start_constraint_virial(const HalfStep& step) {
  start(constraint_virial_, MotionArguments{.step = step});
}

void DeviceMotion::start_virial_within(const HalfStep& step) { start(virial_within_, MotionArguments{.step = step}); }

void DeviceMotion::follow_box(const Box& from, const Box& to) {
  start(follow_box_, BoxArguments{{}, from.unit_vectors(), to.unit_vectors()});
}

void DeviceMotion::kick_and_drift_with_noise(const HalfStep& step, const FrictionAndNoise& noise) {
  TESSERA_CHECK(noise.baths.size() <= most_baths);
  NoisyMotionArguments arguments{MotionArguments{.step = step},
                                 NoiseOnDevice{.decay = {},
                                               .thermal = {},
                                               .seed = noise.seed,
                                               .step = noise.step,
                                               .id = id_.data(),
                                               .bath = has_baths_ ? bath_.data() : nullptr}};
  for (std::size_t b = 0; b < noise.baths.size(); ++b) {
    arguments.noise.decay[b] = noise.baths[b].decay;
    arguments.noise.thermal[b] = noise.baths[b].thermal;
  }
  start(kick_and_drift_with_noise_, arguments);
}

VelocityArguments DeviceMotion::of_velocities() const {
  return {.n_slots = atoms_.n_slots(),
          .inverse_mass = inverse_mass_.data(),
          .bath = has_baths_ ? bath_.data() : nullptr,
          .n_baths = 1,
          .velocity = velocity_.data(),
          .sums = velocity_sums_.data()};
}

/// Begins a kernel with all slots.
void DeviceMotion::start(const device::Kernel& kernel, const VelocityArguments& arguments) const {
  atoms_.device();
  kernel.start_warps(atoms_.stream(), device::warps_of(arguments.n_slots), arguments);
}

/// Waits for sums that have begun, and clears them for the next.
VelocitySums DeviceMotion::fetch_sums() {
  velocity_sums_.start_copy_to(host_velocity_sums_.get(), atoms_.stream());
  velocity_sums_.start_clear(atoms_.stream());
  atoms_.stream().wait();
  return host_velocity_sums_.get().front();
}

VelocitySums DeviceMotion::sum_kinetic_energies(double share, std::size_t n_baths) {
  auto arguments = of_velocities();
  arguments.n_baths = static_cast<std::int32_t>(n_baths);
  arguments.share = share;
  start(kinetic_energies_, arguments);
  return fetch_sums();
}

VelocitySums DeviceMotion::sum_momentum() {
  start(momentum_, of_velocities());
  return fetch_sums();
}

void DeviceMotion::scale_velocities(std::span<const double> factor_of_bath) {
  auto arguments = of_velocities();
  std::ranges::copy(factor_of_bath, arguments.factor);
  start(scale_, arguments);
}

void DeviceMotion::shift_velocities(const Velocity& by) {
  auto arguments = of_velocities();
  arguments.shift = by;
  start(shift_, arguments);
}

void DeviceMotion::start_fetch_of_state() {
  atoms_.start_fetch_of_positions();
  velocity_.start_copy_to(host_velocity_.get(), atoms_.stream());
  start_fetch_of_sums();
}

void DeviceMotion::copy_to(State& state) const {
  threads_.copy(atoms_.staged_positions(), std::span(state.position));
  threads_.copy(std::span<const Velocity>(host_velocity_.get()), std::span(state.velocity));
}

std::int64_t DeviceMotion::bytes() const {
  const auto bytes = slots_.bytes() + bath_.bytes() + id_.bytes() + inverse_mass_.bytes() + velocity_.bytes();
  return static_cast<std::int64_t>(bytes);
}

double DeviceMotion::planned_bytes(std::int64_t slots) {
  constexpr double values = sizeof(std::int64_t) + sizeof(double) + sizeof(Velocity);
  constexpr double of_slot = sizeof(std::int32_t) + 2 * values;  // SlotArray
  return device::GrowingArray<char>::room * of_slot * static_cast<double>(slots);
}

}  // namespace tessera::md::integrate
