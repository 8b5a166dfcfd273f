// Multiplies the Fourier transform of a periodic mesh of real points by real factors, on a device, with the bits of
// Transform and that multiplication: the transforms that particle meshes need, of a mesh that one device holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/device/device.h"
#include "tessera/fft/device/line_kernel.h"
#include "tessera/fft/plan.h"

namespace tessera::fft {

class DeviceConvolution {
 public:
  /// Tells whether a device can: real points along x first, an even number of them, and numbers of points without prime
  /// factors above 7 whose lines fit into memory that threads share.
  static bool serves(const TransformProblem& problem);

  /// Takes the mesh; the device must outlive this. Throws RunError.
  DeviceConvolution(const Index3& grid, const device::DeviceInUse& in_use);

  /// Begins to replace `points` (x,y,z) by those of which each wave is multiplied by its factor (x ≤ n/2,y,z), both in the
  /// device's memory. `spectrum`, if it is not empty, takes a copy of the waves before that: all real parts, then all
  /// imaginary ones. Neither direction divides by the number of points.
  void start(float* points, const float* factors, std::span<float> spectrum, const device::Stream& stream) const;

  /// Returns the number of waves.
  std::int64_t n_waves() const { return waves_; }
  std::int64_t bytes() const { return planned_bytes(waves_); }
  /// Predicts the bytes that grow with the mesh.
  static std::int64_t planned_bytes(std::int64_t n_waves) { return 2 * n_waves * std::int64_t{sizeof(float)}; }

 private:
  std::int64_t waves_;
  device::Kernel kernel_;
  device::DeviceArray<float> spectrum_, turns_;
  /// What lines do: along x and y both ways, along z forward, back, and both in one.
  struct Directions {
    LineArguments forward_x, forward_y, forward_z, both_z, backward_z, backward_y, backward_x;
  } lines_;
};

}  // namespace tessera::fft
