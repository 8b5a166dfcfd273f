// Computes the forces of a particle mesh on a GPU that holds the whole mesh, with the engine's bits
// (docs/design/gpu.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tessera/base/box.h"
#include "tessera/device/device.h"
#include "tessera/fft/device/convolution.h"
#include "tessera/md/device/device_atoms.h"
#include "tessera/md/pme/device/mesh_kernel.h"
#include "tessera/md/pme/plan.h"

namespace tessera::md::pme {

/// The atoms must outlive it. Its members throw RunError.
class DeviceMesh {
 public:
  /// Tells whether a device can: a mesh of one rank that the device transforms (DeviceConvolution::serves).
  static bool serves(const PmePlan& plan);

  DeviceMesh(const PmePlan& plan, const DeviceAtoms& atoms);
  /// Waits until the device does nothing with what goes now.
  ~DeviceMesh();

  /// Takes the charges by slot, e, after a search.
  void set_charges(std::span<const float> charge);
  /// Follows a search of the device.
  void follow(const Renumbering& to);
  /// Takes what follows from the box: the influence function by spectrum point, and −K_d a*_d of each direction.
  void set_box(std::span<const float> influence, const std::array<Vec3, 3>& to_force);

  /// Begins to add forces where atoms are now to `total`. With a spectrum, spectrum() has it once the atoms have been
  /// fetched.
  void start(std::int64_t* total, bool with_spectrum);
  /// Tells after that whether a point held more charge than is allowed. Does not throw.
  bool had_too_much_charge() const { return host_too_great_.get()[0] > 0; }
  /// Begins to tell the same of the forces before, which forces that are begun later do not change.
  void start_check() const { n_too_great_.start_copy_to(host_too_great_.get().last(1), atoms_.stream()); }
  bool had_last_too_much_charge() const { return host_too_great_.get()[1] > 0; }
  /// Returns the transform of charges: all real parts, then all imaginary ones.
  std::span<const float> spectrum() const { return host_spectrum_.get(); }

  /// Returns the bytes on the device that grow with atoms or mesh.
  std::int64_t bytes() const;
  /// Predicts bytes() for so many slots.
  static std::int64_t planned_bytes(const PmeSettings& settings, std::int64_t slots);
  /// Returns the bytes on the host.
  std::size_t host_bytes() const { return host_spectrum_.bytes(); }

 private:
  MeshArguments arguments(std::int64_t* total) const;

  PmeSettings settings_;
  const DeviceAtoms& atoms_;
  device::Kernel spread_, convert_, gather_;
  fft::DeviceConvolution convolution_;
  device::DeviceArray<std::int32_t> fixed_;
  device::DeviceArray<float> points_;  // charges, then the potential
  device::DeviceArray<float> influence_;
  device::DeviceArray<double> to_force_;
  device::DeviceArray<std::int32_t> n_too_great_;
  SlotArray<float> charge_;
  device::HostArray<float> host_spectrum_;
  device::HostArray<std::int32_t> host_too_great_;  // points: of these forces, and of those before
};

}  // namespace tessera::md::pme
