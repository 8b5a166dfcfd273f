// Computes bonded terms on a GPU, with the engine's bits (docs/design/gpu.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/device/device.h"
#include "tessera/md/bonded/device/bonded_kernel.h"
#include "tessera/md/bonded/tables.h"
#include "tessera/md/bonded/terms.h"
#include "tessera/md/device/device_atoms.h"

namespace tessera::md::bonded {

/// The atoms must outlive it. Its members throw RunError, unless they say that they do not.
class DeviceBonded {
 public:
  DeviceBonded(const ForceTables& tables, const DeviceAtoms& atoms);
  /// Waits until the device does nothing with what goes now.
  ~DeviceBonded();

  /// Takes the terms and the charges by slot, e, after a search.
  void set_terms(const LocalTerms& terms, std::span<const double> charge);
  /// Follows a search of the device.
  void follow(const Renumbering& to);
  /// Returns the device's memory: charges by slot, e.
  const double* charge() const { return charge_.data(); }
  /// Begins to add forces where atoms are now to `total`, with energies and virial where these are wanted.
  void start(const Box& box, std::int64_t* total, bool with_sums);
  /// Adds energies and virial once the atoms have been fetched, if start() was asked for them. Does not throw.
  void add_sums(EnergyVirial& sums) const;

  /// Returns the bytes on the device that grow with atoms.
  std::int64_t bytes() const;

 private:
  struct List {
    std::int32_t n = 0;
    device::GrowingArray<std::int32_t> slots, parameter;
    device::DeviceArray<std::byte> rows;
  };

  struct Kernels {
    device::Kernel alone, with_sums;
  };
  Kernels find(const std::string& name) const;

  const DeviceAtoms& atoms_;
  Kernels of_most_, of_cmap_;
  device::GrowingArray<CmapSurface::Node> cmap_nodes_;  // of all tables
  std::vector<List> lists_;                             // by kind
  SlotArray<double> charge_;
  device::DeviceArray<BondedSums> sums_;     // (1)
  device::HostArray<BondedSums> host_sums_;  // (1)
  bool has_sums_ = false;
};

}  // namespace tessera::md::bonded
