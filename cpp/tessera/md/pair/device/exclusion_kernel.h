// Declares what the kernel of excluded pairs' energies reads and writes. All pointers are to the device's memory.
#pragma once

#include <cstdint>

#include "tessera/base/box.h"
#include "tessera/md/pair/device/pair_kernel.h"

namespace tessera::md::pair {

struct ExclusionArguments {
  std::int32_t n_rows;
  const DeviceRow* rows;  // of entries with masks
  const DeviceEntry* masked;
  Triangular to_length;      // Å per unit of Fraction
  const Fraction* position;  // by slot
  const Fraction* centre;    // of each cluster's cell
  const double* charge;      // by slot, e
  const double* vectors;     // (neighbour cells,3) Å, half_shell_vectors()
  double coulomb_constant;   // kcal/mol Å/e²
  double alpha;              // 1/Å
  double range;              // Å; pairs beyond it add nothing
  DeviceEnergy* energy;
};

}  // namespace tessera::md::pair
