// Sums over pairs of clusters of four atoms from a list: in SIMD, single precision inside a pair of clusters and fixed
// point beyond, or pair by pair in double precision.
//
// Within a precision the result depends on neither ranks nor threads nor the list, to the bit.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/pair_data.h"

namespace tessera::md {
class DeviceAtoms;
namespace domain {
struct SortedAtoms;
}
}  // namespace tessera::md

namespace tessera::md::pair {

class DevicePairs;
struct ExcludedAtoms;
struct ListSettings;

/// Names what sums in this precision, in reports: "reference" is what tests compare with, too.
constexpr std::string_view scheme_name(Precision precision) {
  return precision == Precision::mixed ? "cluster" : "reference";
}

/// Sums the pairs of one rank. It is constructed once; its data must outlive it.
class ClusterSum {
 public:
  ClusterSum(const PairData& data, Precision precision);
  ~ClusterSum();

  /// Sums on a device from now on, unless in double precision or where it has been given up, with the same bits. Once
  /// the device fails, it is given up, and processors sum what it should have and all that follows.
  void use_device(const DeviceAtoms& atoms, const LookupTable& lookup);
  bool is_on_device() const { return device_ != nullptr; }
  /// Returns the bytes that are held on the device.
  std::int64_t device_bytes() const;

  /// Follows atoms that have been sorted into cells again; an update(true) comes next.
  void rebuild();
  /// Follows the box after it has changed between searches, which moves cells apart or together.
  void set_box();
  /// Follows where cells are, as set_box() does, while a device has the places of atoms.
  void set_shifts();
  /// Makes a new list if requested, of the pairs that may come within the cut-off as long as no atom moves further than
  /// its reach.
  void update(bool make_list);
  /// Adds forces and energies of pairs that need no halo atom, by the last list; add_forces() then adds the rest. The
  /// set of such pairs does not depend on the list. In double precision all pairs are left to add_forces(). The calling
  /// thread calls `meanwhile` now and then.
  void add_inner_forces(std::span<Accumulator> by_thread, const std::function<void()>& meanwhile);
  /// Lets a device begin to add the forces of all pairs within the cut-off to `total`, (slots,3) of its memory. Without
  /// one it does nothing. Energies of excluded pairs are left to processors, unless it has moved the atoms: it takes their
  /// charges, by slot of its memory, then.
  void start_forces(std::span<Accumulator> by_thread, std::int64_t* total, const double* charge = nullptr);
  /// Lets a device that moves atoms by itself begin to make their coordinates, and look whether they are within their
  /// reaches of where they were listed. start_forces() takes them then. Factors for changes of velocities, by slot, are
  /// taken once after a search by processors.
  void start_coordinates(std::span<const ClusterPlaces> listed, std::span<const float> mobility);
  /// Tells whether the device lists what is near.
  bool has_lists_of_device() const { return has_masked_alone_ && is_on_device(); }
  /// Lets it do so where its atoms are now, whose velocities it has, too (DevicePairs::make_list_of_own). Returns whether
  /// it has.
  bool make_list_on_device(const ListSettings& list, float typical, const Velocity* velocity);
  /// Tells a device which atoms are excluded for which. Returns whether it can follow its own searches then.
  bool set_excluded_on_device(const ExcludedAtoms& excluded);
  /// Lets it follow a search of its own (DevicePairs::follow); make_list_on_device() comes next.
  void follow_on_device(const domain::SortedAtoms& sorted);
  /// Returns how many entries of the list the device has left to double precision.
  std::int32_t n_clashes_on_device() const;
  /// Returns the same of the sum before start_coordinates(), once that has been waited for.
  std::int32_t n_last_clashes_on_device() const;
  /// Tells once the atoms have been fetched from the device whether it has added all; if not, it has begun again. Throws
  /// RunError.
  bool has_device_ended();
  /// Adds the forces, and the energies for accumulators that want them, of all pairs within the cut-off; forces that a
  /// device has added are left out.
  void add_forces(std::span<Accumulator> by_thread);
  /// Adds what of energies and virial a device has summed that has ended, and of which processors need no more.
  void add_sums_of_device(EnergyVirial& sums);
  /// Returns the number of pairs of atoms that add_forces() evaluates, including those beyond the cut-off.
  std::int64_t n_evaluated() const;
  /// Returns the bytes of the list of near pairs, and of everything else that it holds.
  std::size_t list_bytes() const { return list_.bytes(); }
  std::size_t other_bytes() const;

 private:
  /// Rows of some parts of the list, in pieces; each thread's share are the rows that it listed.
  struct Pieces {
    struct Piece {
      const PairListPart* part;
      RowRange rows;
    };
    std::vector<Piece> pieces;
    std::vector<std::int64_t> begin;  // (threads+1)
  };
  static Pieces pieces_of(std::initializer_list<const std::vector<PairListPart>*> lists);
  Pieces all_pieces() const { return pieces_of({&list_.inner, &list_.outer}); }
  template <class Function>
  void for_pieces(const Pieces& all, Function&& function);

  template <class Function>
  bool on_device(Function&& function);
  bool make_list_on_device();
  void build_list(std::span<const float> reach);
  void complete_list();
  void clear();
  void sum_on_host(std::span<Accumulator> by_thread, bool has_inner);
  template <class Function>
  void run(const Pieces& pieces, std::span<Accumulator> by_thread, Function&& meanwhile);
  void sum_forces(std::span<Accumulator> by_thread);
  void add_virial_of_cells(EnergyVirial& energies) const;
  void add_exact_forces(std::span<Accumulator> by_thread);

  const PairData& data_;
  const Precision precision_;
  PairLister lister_;
  PairList list_;
  std::vector<std::vector<ClusterForces>> force_;  // by thread
  std::vector<CellForces> cell_forces_;            // by thread
  std::vector<std::vector<Clash>> clashes_;        // by thread
  bool has_inner_ = false;                         // whether add_inner_forces() has added since
  bool has_started_ = false;                       // whether a device has begun with all that are left
  bool has_masked_alone_ = false;                  // whether the device has the rest of the list
  bool has_places_ = false;                        // whether the device knows where atoms were listed
  std::unique_ptr<DevicePairs> device_;
  const DeviceAtoms* atoms_ = nullptr;
};

/// Holds the bytes of a ClusterSum, and the slots that a thread beyond the first adds to through its accumulator.
struct PairBytes {
  double list = 0, other = 0, slots_of_thread = 0;
};
/// Returns what a ClusterSum of this precision holds of such lists.
PairBytes plan_cluster_sum(const PairCounts& counts, Precision precision);

}  // namespace tessera::md::pair
