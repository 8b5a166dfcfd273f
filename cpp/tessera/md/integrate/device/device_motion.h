// Moves a rank's atoms on a GPU, where their positions, velocities and forces stay from step to step, with the engine's
// bits (docs/design/gpu.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/device/device.h"
#include "tessera/md/constraint/group_list.h"
#include "tessera/md/device/device_atoms.h"
#include "tessera/md/integrate/device/motion_kernel.h"
#include "tessera/md/integrate/device/velocity_kernel.h"
#include "tessera/md/state.h"

namespace tessera::md::integrate {

/// The threads and the atoms, whose forces of group 0 move them, must outlive it. Its members throw RunError, unless they
/// say that they do not.
class DeviceMotion {
 public:
  DeviceMotion(ThreadPool& threads, DeviceAtoms& atoms);
  /// Waits until the device does nothing with what goes now.
  ~DeviceMotion();

  /// Takes the groups after a search by processors, with ids and inverse masses (amu⁻¹) by slot, and heat baths by owned
  /// slot where there are several.
  void set_groups(std::span<const constraint::GroupList> lists, std::span<const std::int64_t> id,
                  std::span<const double> inverse_mass, std::span<const std::uint8_t> bath);
  /// Follows a search of the device.
  void follow(const Renumbering& to);
  /// Begins to take positions and velocities.
  void start_from(const State& state);

  /// Begins what the function of this name does (half_step.h); pointers of the step are the device's own, as below.
  void kick_and_drift(const HalfStep& step);
  void kick_and_drift_with_noise(const HalfStep& step, const FrictionAndNoise& noise);
  void kick_and_project(const HalfStep& step, bool with_virial);
  /// Begins to clear virials(), to which kick_and_project() adds that of constraint forces.
  void clear_virials() const { virials_.start_clear(atoms_.stream()); }
  /// Begins to add the virial of constraint forces in a state (constraint_forces.h) to virials().
  void start_constraint_virial(const HalfStep& step);
  /// Begins to add the virial within groups (half_step.h) to virials().
  void start_virial_within(const HalfStep& step);
  /// Begins to move groups as a whole into another box, as Motion::set_box() does.
  void follow_box(const Box& from, const Box& to);

  /// Waits for the sums of kinetic energies of heat baths, of which there are most_baths at most, or for the momentum.
  VelocitySums sum_kinetic_energies(double share, std::size_t n_baths);
  VelocitySums sum_momentum();
  /// Begins to multiply the velocities of the atoms of each heat bath.
  void scale_velocities(std::span<const double> factor_of_bath);
  /// Begins to take a velocity from all atoms that move.
  void shift_velocities(const Velocity& by);

  /// Returns the device's memory, by slot.
  const Velocity* velocity() const { return velocity_.data(); }
  /// Begins to fetch sums(), virials(), and with the state positions and velocities too.
  void start_fetch_of_sums() const { sums_.start_copy_to(host_sums_.get(), atoms_.stream()); }
  void start_fetch_of_virials() const { virials_.start_copy_to(host_virials_.get(), atoms_.stream()); }
  void start_fetch_of_state();
  /// Returns what half steps have left since set_groups(), once that has been waited for. Does not throw.
  const MotionSums& sums() const { return host_sums_.get().front(); }
  /// Returns the virials since clear_virials(), likewise. Does not throw.
  const GroupVirials& virials() const { return host_virials_.get().front(); }
  std::span<const Velocity> fetched_velocities() const { return host_velocity_.get(); }
  /// Copies positions and velocities that were fetched. Does not throw.
  void copy_to(State& state) const;

  /// Returns the bytes on the device that grow with atoms, and what they would be for so many slots.
  std::int64_t bytes() const;
  static double planned_bytes(std::int64_t slots);
  /// Returns the bytes on the host.
  std::size_t host_bytes() const { return host_velocity_.bytes(); }

 private:
  /// Kernels of groups whose shape the compiler knows, and of all others.
  struct Half {
    device::Kernel of_known_shape, of_any;
  };
  struct Lists {
    std::int64_t n_warps = 0;
    std::int32_t n = 0;
    device::GrowingArray<GroupsOnDevice> lists;
  };

  Half find(const char* name) const;
  void set_lists(Lists& to, std::span<const GroupsOnDevice> lists, std::int64_t n_warps);
  template <class Arguments>
  void start(const Half& half, Arguments arguments) const;
  VelocityArguments of_velocities() const;
  void start(const device::Kernel& kernel, const VelocityArguments& arguments) const;
  VelocitySums fetch_sums();

  ThreadPool& threads_;
  DeviceAtoms& atoms_;
  Half kick_and_drift_, kick_and_drift_with_noise_, kick_and_project_, kick_and_project_with_virial_,
      constraint_virial_, virial_within_, follow_box_;
  device::Kernel kinetic_energies_, momentum_, scale_, shift_;
  Lists of_known_shape_, of_any_;
  device::GrowingArray<std::int32_t> slots_;
  std::int64_t n_slots_of_groups_ = 0;
  SlotArray<std::int32_t> bath_;
  bool has_baths_ = false;
  SlotArray<std::int64_t> id_;
  SlotArray<double> inverse_mass_;
  SlotArray<Velocity> velocity_;
  device::HostArray<Velocity> host_velocity_;
  device::DeviceArray<MotionSums> sums_;                // (1)
  device::HostArray<MotionSums> host_sums_;             // (1)
  device::DeviceArray<GroupVirials> virials_;           // (1)
  device::HostArray<GroupVirials> host_virials_;        // (1)
  device::DeviceArray<VelocitySums> velocity_sums_;     // (1)
  device::HostArray<VelocitySums> host_velocity_sums_;  // (1)
};

}  // namespace tessera::md::integrate
