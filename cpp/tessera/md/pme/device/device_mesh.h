// Computes the forces of a particle mesh on a GPU that holds the whole mesh, with the engine's bits
// (docs/design/gpu.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tessera/base/box.h"
#include "tessera/base/threads.h"
#include "tessera/device/device.h"
#include "tessera/fft/device/convolution.h"
#include "tessera/md/pme/device/mesh_kernel.h"
#include "tessera/md/pme/plan.h"

namespace tessera::md::pme {

/// The threads and the device must outlive it. Its members throw RunError.
class DeviceMesh {
 public:
  /// Tells whether a device can: a mesh of one rank that the device transforms (DeviceConvolution::serves).
  static bool serves(const PmePlan& plan);

  DeviceMesh(const PmePlan& plan, const device::DeviceInUse& in_use, ThreadPool& threads);
  /// Waits until the device does nothing with what goes now.
  ~DeviceMesh();

  /// Takes the charges by slot, e, after a search.
  void set_charges(std::span<const float> charge);
  /// Takes what follows from the box: the influence function by spectrum point, and −K_d a*_d of each direction.
  void set_box(std::span<const float> influence, const std::array<Vec3, 3>& to_force);

  /// Begins to compute forces where atoms are now. With a spectrum, spectrum() has it after finish().
  void start(std::span<const Fraction> position, bool with_spectrum);
  /// Waits, and adds forces, (slots,3) in units of force_unit. Returns false, and adds none, if a point holds more charge
  /// than is allowed.
  [[nodiscard]] bool finish(std::span<std::int64_t> total);
  /// Returns the transform of charges: all real parts, then all imaginary ones.
  std::span<const float> spectrum() const { return host_spectrum_.get(); }

  /// Returns the bytes on the device that grow with atoms or mesh.
  std::int64_t bytes() const;
  /// Predicts bytes() for so many slots.
  static std::int64_t planned_bytes(const PmeSettings& settings, std::int64_t slots);
  /// Returns the bytes on the host.
  std::size_t host_bytes() const { return host_position_.bytes() + host_total_.bytes() + host_spectrum_.bytes(); }

 private:
  MeshArguments arguments() const;

  PmeSettings settings_;
  ThreadPool& threads_;
  const device::Device& device_;
  device::Stream stream_;
  device::Kernel spread_, convert_, gather_;
  fft::DeviceConvolution convolution_;
  device::DeviceArray<std::int32_t> fixed_;
  device::DeviceArray<float> points_;  // charges, then the potential
  device::DeviceArray<float> influence_;
  device::DeviceArray<double> to_force_;
  device::DeviceArray<std::int32_t> n_too_great_;
  std::size_t n_slots_ = 0;
  device::GrowingArray<float> charge_;
  device::GrowingArray<Fraction> position_;
  device::GrowingArray<std::int64_t> total_;
  device::HostArray<Fraction> host_position_;
  device::HostArray<std::int64_t> host_total_;
  device::HostArray<float> host_spectrum_;
  device::HostArray<std::int32_t> host_too_great_;
};

}  // namespace tessera::md::pme
