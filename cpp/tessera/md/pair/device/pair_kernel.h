// Declares what kernels of a device read and write for sums over pairs. All pointers are to the device's memory.
#pragma once

#include <cstdint>

#include "tessera/md/pair/clusters/cluster.h"
#include "tessera/md/pair/clusters/cluster_kernel.h"
#include "tessera/md/pair/device/device_list.h"

namespace tessera::md::pair {

/// An energy as EnergyVirial sums it: in units of energy_unit, and whole multiples of large_energy apart.
struct DeviceEnergy {
  std::int64_t sum, of_clashes;
};

/// A cluster pair that the kernel left out (Clash).
struct DeviceClash {
  std::int32_t i_cluster;
  DeviceEntry entry;
};

/// What sums over pairs add to.
struct DeviceSums {
  ClusterForces* force;      // by cluster
  std::int64_t* cell_force;  // (neighbour cells,3) pair_force_unit: on j-clusters seen there (CellForces)
  DeviceEnergy* energy;      // Lennard-Jones, Coulomb
  DeviceClash* clash;        // in no order; there may be more than there is room for
  std::int32_t* n_clashes;
  std::int32_t most_clashes;
};

/// Arguments of the kernel of pairs.
struct PairArguments {
  KernelConstants constants;
  const DeviceRow* rows;
  const DeviceTile* tiles;
  std::int32_t n_rows, n_tiles;
  const DeviceEntry* masked;
  const TileEntry* tile_entries;
  const float* shifts;  // (neighbour cells,3) Å, PairList::shifts
  const ClusterData* clusters;
  const std::int32_t* type;  // by slot
  DeviceSums sums;
};

/// Arguments of the kernel that hands forces on clusters over to atoms, with their virial.
struct ForceArguments {
  std::int32_t n_clusters;
  const ClusterData* clusters;
  const ClusterForces* force;
  const std::int32_t* n_clashes;  // the kernel does nothing if there are more than there was room for
  std::int32_t most_clashes;
  std::int64_t* total;             // (slots,3) force_unit
  const std::int64_t* cell_place;  // (neighbour cells,3) SingleSumVirial::place_unit: centres of cells
  const std::int64_t* cell_force;  // (neighbour cells,3)
  std::int64_t* virial;            // (6) as EnergyVirial has it
  std::int64_t* virial_remainder;  // (6)
};

}  // namespace tessera::md::pair
