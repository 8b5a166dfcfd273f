// Declares what kernels of a device read and write for the particle mesh. All pointers are to the device's memory.
#pragma once

#include <cstdint>

#include "tessera/base/box.h"

namespace tessera::md::pme {

/// Arguments of the kernels that spread charges, and that interpolate forces.
struct MeshArguments {
  std::int32_t n_atoms;
  std::uint32_t grid[3], offset[3];  // of a MeshWindow that holds the mesh once
  const Fraction* position;          // by slot
  const float* charge;               // by slot, e
  std::int32_t* fixed;               // (x,y,z) FixedCharge
  const float* potential;            // (x,y,z)
  const double* to_force;            // (3,3) as add_forces() of kernel.h has it
  std::int64_t* total;               // (slots,3) force_unit: forces are added
};

/// Arguments of the kernel that makes charges of integers.
struct ConvertArguments {
  std::int32_t n;
  const std::int32_t* fixed;
  float* charge;
  std::int32_t limit;         // of magnitudes
  std::int32_t* n_too_great;  // counts those beyond it
};

}  // namespace tessera::md::pme
