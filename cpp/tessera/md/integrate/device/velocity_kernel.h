// Declares what the kernels read and write that sum and change the velocities of all atoms. All pointers are to the device's
// memory.
#pragma once

#include <cstdint>

#include "tessera/md/integrate/device/motion_kernel.h"
#include "tessera/md/state.h"

namespace tessera::md::integrate {

/// Sums over all atoms that move.
struct VelocitySums {
  std::int64_t kinetic[most_baths];  // energies of each heat bath, energy_unit
  std::int64_t momentum[3];          // momentum_unit
};

/// A momentum in units of 2⁻²⁰ amu Å/ps.
inline constexpr double momentum_unit = 1.0 / 1048576.0;

struct VelocityArguments {
  std::int32_t n_slots;
  const double* inverse_mass;  // by slot, amu⁻¹; 0: it does not move
  const std::int32_t* bath;    // by slot; null where there is one bath
  std::int32_t n_baths;
  Velocity* velocity;  // by slot
  VelocitySums* sums;
  double share = 0;             // of kinetic energies
  double factor[most_baths]{};  // by heat bath
  Velocity shift{};             // that is taken from those that move
};

}  // namespace tessera::md::integrate
