// The elastic energy of a piece of DNA by the frames at its ends, in kT.
//
// A piece of length l, straight and untwisted at rest, has springs in the six parameters that lead from one frame to the
// other, measured in the frame half-way (Lu and Olson 2003):
//
//   2E = k_across (shift² + slide²) + k_along (rise - l)² + k_bend (tilt² + roll²) + k_twist twist²
//
// Both directions of bending are alike, so that only the angle between the z axes counts.
#pragma once

#include <array>

#include "tessera/fiber/frame.h"

namespace tessera::fiber {

struct Springs {
  double length = 0;  // Å
  double across = 0;  // kT/Å²
  double along = 0;   // kT/Å²
  double bend = 0;    // kT/rad²
  double twist = 0;   // kT/rad²
};

/// The energy of a step by what it is in, kT.
struct StepEnergy {
  double across = 0, along = 0, bend = 0, twist = 0;
  double total() const { return across + along + bend + twist; }
};

/// Returns the energy of a step. Infinite where the z axes point at each other, which has no frame half-way.
StepEnergy step_energy(const Frame& first, const Frame& second, const Springs& springs);

/// Returns the second frame of a step as the first sees it, from shift, slide, rise in Å, and tilt, roll, twist in
/// radians.
Frame step_frame(const std::array<double, 6>& parameters);

}  // namespace tessera::fiber
