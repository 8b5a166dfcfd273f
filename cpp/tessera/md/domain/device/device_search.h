// Sorts the atoms of a rank that has no halo into cells on a GPU, in the slots that Domain::rebuild() would give them
// (docs/design/gpu.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/device/device.h"
#include "tessera/md/device/device_atoms.h"
#include "tessera/md/domain/device/search_kernel.h"
#include "tessera/md/domain/domain.h"

namespace tessera::md::domain {

/// Says where atoms are after a search. All pointers are to the device's memory.
struct SortedAtoms : Renumbering {
  const std::int32_t* atom = nullptr;           // by slot; −1: padding
  const std::int32_t* slot_of = nullptr;        // by atom
  const std::int32_t* cell_of = nullptr;        // by cluster
  const std::int32_t* first_cluster = nullptr;  // (cells+1)
  const Fraction* centre = nullptr;             // by cell
  std::span<const std::int32_t> first_cluster_on_host;
};

/// The domain and the atoms must outlive it. Its members throw RunError, unless they say that they do not.
class DeviceSearch {
 public:
  /// Tells whether a device can: the domain is one rank's, and a box that repeats.
  static bool serves(const Domain& domain);

  DeviceSearch(const Domain& domain, DeviceAtoms& atoms);
  /// Waits until the device does nothing with what goes now.
  ~DeviceSearch();

  /// Lets the next search begin from the slots of the domain. Does not throw.
  void forget_atoms() { knows_atoms_ = false; }
  /// Sorts atoms where they are on the device. Returns nullptr where a cell has more than a warp sorts; nothing has
  /// changed then.
  const SortedAtoms* search();

  /// Begins to fetch which atoms are in which slots, and where they were at the search.
  void start_fetch();
  /// Returns that by slot, once it has been waited for: atoms, −1 for padding, and places. Does not throw.
  std::span<const std::int32_t> atoms() const { return host_atom_.get(); }
  std::span<const Fraction> references() const { return host_reference_.get(); }
  std::span<const std::int32_t> first_clusters() const { return host_begin_.get(); }

  /// Returns the bytes on the device that grow with atoms or cells, and those on the host.
  std::int64_t bytes() const;
  std::size_t host_bytes() const;
  /// Predicts bytes() for so many slots, atoms and cells.
  static double planned_bytes(double slots, double atoms, double cells);

 private:
  void take_atoms();
  bool count_clusters();

  const Domain& domain_;
  DeviceAtoms& atoms_;
  device::Kernel cells_, atoms_of_cells_, sort_;
  bool knows_atoms_ = false;
  SortedAtoms sorted_;

  // By cell.
  device::DeviceArray<std::int32_t> cell_of_flat_, count_, begin_;
  device::DeviceArray<Fraction> centre_;
  device::HostArray<std::int32_t> host_count_, host_begin_;
  // By atom.
  device::DeviceArray<std::int32_t> key_, slot_of_;
  // By slot or cluster.
  SlotArray<std::int32_t> atom_;
  device::GrowingArray<std::int32_t> cell_, place_, slot_, list_, source_, cell_of_;
  device::HostArray<std::int32_t> host_atom_;
  device::HostArray<Fraction> host_reference_;
};

}  // namespace tessera::md::domain
