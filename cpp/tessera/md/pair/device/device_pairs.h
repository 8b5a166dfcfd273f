// Sums a rank's pairs on a GPU, from the pair list of the engine, with the engine's bits (docs/design/gpu.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tessera/device/device.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/device/device_atoms.h"
#include "tessera/md/domain/device/device_search.h"
#include "tessera/md/energies.h"
#include "tessera/md/pair/device/coordinates_kernel.h"
#include "tessera/md/pair/device/exclusion_kernel.h"
#include "tessera/md/pair/device/list_kernel.h"
#include "tessera/md/pair/device/pair_kernel.h"
#include "tessera/md/pair/device/reach_kernel.h"
#include "tessera/md/pair/device/sorted_kernel.h"
#include "tessera/md/pair/pair_data.h"
#include "tessera/md/pair/potentials/lookup_table.h"

namespace tessera::md::pair {

/// Which rows of a list are summed: those that need no halo atom, or the others.
enum class ListHalf { inner, outer };

/// Returns the name of the kernel of pairs for these settings (kernels.cu). All do the same operations.
std::string name_of_pair_kernel(const KernelConstants& constants, StepSums sums);

/// The atoms that the force field excludes for each atom of a system, both ways.
struct ExcludedAtoms {
  std::vector<std::int32_t> begin, atoms;  // by atom: where its own begin; they end where those of the next begin
};

/// The data of a rank must outlive it, as must its atoms. Its members throw RunError.
class DevicePairs {
 public:
  DevicePairs(const PairData& data, const LookupTable& lookup, const DeviceAtoms& atoms);
  /// Waits until the device does nothing with what goes now.
  ~DevicePairs();

  /// Takes what lists are made of after a search by processors, with a list of entries with masks alone.
  void set_cells(const PairLister& lister, const PairList& masked);
  /// Lists all others within the cut-off, Å, and reaches of atoms.
  void make_list(double cutoff);
  /// Does the same with the coordinates that the device has made, and reaches by velocities there, by slot (reach_of).
  void make_list_of_own(double cutoff, const ListSettings& list, float typical, const Velocity* velocity);
  /// Returns how many pairs of clusters make_list() has listed.
  std::int64_t n_listed() const { return n_listed_; }
  /// Takes where cells are in the box that there is now (PairList::shifts).
  void set_shifts(const PairList& list);

  /// Takes where atoms were listed and how far they may go from there, for start_coordinates(), and factors for changes of
  /// their velocities, by slot.
  void set_places(std::span<const ClusterPlaces> listed, std::span<const float> mobility);
  /// Begins to make coordinates of where the device's atoms are now, and to add to their check how many have gone further.
  /// The step that comes takes no others from the host.
  void start_coordinates();
  /// Takes which atoms are excluded for which. Returns false where there are too many for follow().
  bool set_excluded(const ExcludedAtoms& excluded);
  /// Follows a search of the device, after set_cells(), set_places() and set_excluded(): moves what belongs to slots, and
  /// finds anew what lists are made of. make_list_of_own() comes next.
  void follow(const domain::SortedAtoms& sorted);
  /// Takes coordinates from the host again. Does not throw.
  void forget_coordinates() { has_coordinates_ = false; }

  /// Begins to sum one half of the rows, the inner half first, with the coordinates that its atoms have now: owned ones
  /// of the inner half, and all others.
  void start(ListHalf half, StepSums sums);
  /// Begins to sum the energies of excluded pairs by Ewald's mesh, too, which add_sums() else leaves to processors, after
  /// start_coordinates(); `charge` is the device's memory, by slot.
  void start_exclusion_energies(const double* charge);
  /// Begins to add the forces of both halves to `total`, (slots,3) of the device's memory.
  void start_total(std::int64_t* total);
  /// Tells once the atoms have been fetched whether there was room for all entries with a clash. If not, it has added
  /// nothing to the total, has made room, and has begun anew.
  bool has_ended();
  /// Returns how many entries had a clash once the atoms have been fetched; there may be more than there is room for.
  std::int32_t n_clashes() const { return host_sums_.get().front().n_clashes; }
  /// Returns the same of the sum before start_coordinates(), once that has ended. A sum that has begun since then does not
  /// change it.
  std::int32_t n_last_clashes() const { return host_sums_.get().front().n_last_clashes; }
  /// Returns the entries with a clash, which are left to double precision, once it has ended.
  std::vector<Clash> fetch_clashes();
  /// Adds what of energies and virial start() was asked for, once it has ended. Does not throw.
  void add_sums(EnergyVirial& sums) const;

  /// Returns the bytes on the device that grow with atoms.
  std::int64_t bytes() const;
  /// Returns what bytes() would be of such lists.
  static double planned_bytes(const PairCounts& counts);
  /// Returns what set_places() adds.
  static double planned_bytes_of_places(std::int64_t slots) {
    constexpr double of_cluster = sizeof(ClusterPlaces) + sizeof(Fraction) + cluster_size * 2 * sizeof(float);
    return device::GrowingArray<char>::room * of_cluster * static_cast<double>(slots) / cluster_size;
  }
  /// Returns what follow() adds, beside that.
  static double planned_bytes_of_searches(const PairCounts& counts, double atoms) {
    constexpr double of_slot = sizeof(std::int32_t) + sizeof(float) + 1.0 * sizeof(ClusterData) / cluster_size;
    constexpr double of_cell = PartnerCells::room * sizeof(std::int32_t);
    const double of_atoms =
        sizeof(std::int32_t) * (atoms + cluster_size * counts.masked_pairs);  // ExcludedAtoms, about
    return device::GrowingArray<char>::room * (of_slot * counts.slots + of_cell * counts.cells + of_atoms);
  }
  /// Returns the bytes on the host.
  std::size_t host_bytes() const { return host_clusters_.bytes(); }

 private:
  PairArguments arguments(ListHalf half) const;
  TableOnDevice table() const;
  void list_all(double cutoff);
  ListCounts list(const ListArguments& all, std::size_t first, std::size_t last);
  using OfCell = std::function<std::int32_t(std::int32_t)>;
  void set_groups(const OfCell& first_cluster, const OfCell& is_inner, const OfCell& has_partners);
  void make_room(std::int64_t n_slots);
  void find_partner_cells();
  void list_masked(const domain::SortedAtoms& sorted);
  template <class Array, class T>
  void copy_to(Array& array, std::span<const T> values);
  template <class Arguments>
  void launch(const std::string& kernel, std::int64_t warps, const Arguments& arguments);
  void copy_clusters(std::size_t begin, std::size_t end);

  const PairData& data_;
  const DeviceAtoms& atoms_;
  const device::Device& device_;
  const device::Stream& stream_;
  std::map<std::string, device::Kernel> kernels_;  // that were used, by name
  KernelConstants constants_;                      // with tables on the device
  device::DeviceArray<float> table_12a_, table_6b_, lookup_force_, lookup_energy_;
  device::DeviceArray<std::int32_t> lookup_begin_, needs_table_, has_table_;

  // The list, and what belongs to it.
  std::int64_t n_rows_ = 0, n_inner_rows_ = 0, n_tiles_ = 0, n_inner_tiles_ = 0, n_table_rows_ = 0;
  device::GrowingArray<DeviceRow> rows_;
  device::GrowingArray<DeviceEntry> masked_;
  device::GrowingArray<DeviceTile> tiles_;
  device::GrowingArray<TileEntry> tile_entries_;
  device::GrowingArray<DeviceRow> table_rows_;  // of entries that have no masks
  device::GrowingArray<DeviceEntry> table_entries_;
  std::int64_t n_clusters_ = 0;
  SlotArray<ClusterData> clusters_;
  SlotArray<std::int32_t> type_;

  // What lists are made of.
  std::size_t n_groups_ = 0, n_inner_groups_ = 0;
  std::size_t most_tiles_ = 0, most_by_table_ = 0, most_masked_ = 0, most_partners_ = 0;
  std::int64_t n_listed_ = 0;
  device::GrowingArray<ClusterGroup> groups_;
  device::GrowingArray<PartnerCells> partners_;
  device::GrowingArray<ExcludedRange> excluded_;
  device::GrowingArray<std::int32_t> partner_;
  device::GrowingArray<float> reach_;
  SlotArray<float> mobility_;
  device::DeviceArray<ListCounts> counts_;        // (1)
  device::DeviceArray<float> shifts_;             // (neighbour cells,3) Å
  device::DeviceArray<std::int64_t> cell_place_;  // (neighbour cells,3) SingleSumVirial::place_unit
  device::DeviceArray<double> cell_vectors_;      // (neighbour cells,3) Å

  // What coordinates are made of.
  device::GrowingArray<ClusterPlaces> listed_;
  device::GrowingArray<Fraction> centre_;  // of each cluster's cell
  bool has_coordinates_ = false;           // of this step

  // What follow() needs.
  std::size_t n_partner_cells_ = 0;                                    // which are known
  device::GrowingArray<std::int32_t> partner_cell_;                    // (cells,64)
  device::GrowingArray<std::int32_t> excluded_begin_, excluded_atom_;  // ExcludedAtoms
  device::DeviceArray<MaskCounts> mask_counts_;                        // (1)

  // Sums of a step.
  StepSums sums_ = StepSums::none;
  device::GrowingArray<ClusterForces> force_;
  std::int64_t* total_ = nullptr;                 // (slots,3) force_unit, of the atoms
  device::DeviceArray<std::int64_t> cell_force_;  // (neighbour cells,3)
  device::DeviceArray<DeviceEnergy> energy_;      // Lennard-Jones, Coulomb, excluded pairs
  device::DeviceArray<std::int64_t> virial_;      // (12): as EnergyVirial has it, and its remainder
  device::GrowingArray<DeviceClash> clash_;       // most_clashes_
  device::DeviceArray<std::int32_t> n_clashes_;   // (1)
  std::int32_t most_clashes_ = 64;

  /// What is copied at the end of a step, beside forces.
  struct HostSums {
    std::int64_t virial[12];
    DeviceEnergy energy[3];
    std::int32_t n_clashes, n_last_clashes;
  };
  // What the device copies from and to, in the host's memory.
  device::HostArray<ClusterData> host_clusters_;
  device::HostArray<HostSums> host_sums_;  // (1)
};

}  // namespace tessera::md::pair
