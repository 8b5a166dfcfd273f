// Computes a rank's non-bonded forces: it prepares atoms for the kernels, decides how long a pair list lasts, and sums
// over it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tessera/md/pair/cluster_sum.h"
#include "tessera/md/pair/list_settings.h"
#include "tessera/md/pair/pair_data.h"
#include "tessera/md/pair/potentials/lookup_table.h"

namespace tessera::md::pair {

class PairForces {
 public:
  /// Sums pairs on a device, if there is one; in double precision it is not used.
  PairForces(const domain::Domain& domain, const PairSettings& settings, const ListSettings& list, Precision precision,
             ThreadPool& threads, const DeviceAtoms* on_device = nullptr);

  PairForces(const PairForces&) = delete;  // the sum keeps a reference to the data
  PairForces& operator=(const PairForces&) = delete;

  /// Finds parameters and exclusions by slot after the domain was rebuilt.
  void rebuild();
  /// Shortens the reaches of the last list after the box of the state has changed from `before` without a search.
  void set_box(const Box& before);
  /// Sets the greatest distance that an atom may move from where it was listed, Å.
  void set_most_reach(double reach) { list_settings_.most_reach = reach; }
  /// Converts the domain's positions of owned atoms to the kernels' coordinates.
  void update_owned();
  /// Tells after update_owned() whether the last list is still valid for owned atoms.
  bool list_holds() const { return is_listed_ && own_within_reach_.value_or(false); }
  /// Updates the coordinates of all atoms, and makes a new list if requested or if atoms have moved too far for the
  /// last one. The forces are the same bits with any valid list, because pairs beyond the cut-off add zeros.
  void update(bool make_list);
  /// Adds forces of pairs without halo atoms, between update_owned() and update(), while halo positions are on their
  /// way, if the last list is still valid for owned atoms. This thread calls `meanwhile` now and then. Adds nothing
  /// without a halo.
  void add_inner_forces(std::span<Accumulator> by_thread, const std::function<void()>& meanwhile);
  /// Lets a device begin to add to its memory, so that processors do something else until it has ended.
  void start_forces(std::span<Accumulator> by_thread, std::int64_t* total, const double* charge = nullptr) {
    sum_.start_forces(by_thread, total, charge);
  }
  /// Tells whether a device that has moved the atoms can sum all energies of pairs (ClusterSum::start_forces): those of
  /// dispersion by a mesh are left to processors.
  bool has_energies_of_device() const { return data_.settings.lj != LjModifier::pme; }
  bool has_device_ended() { return sum_.has_device_ended(); }
  /// Lets a device that moves atoms by itself make their coordinates (ClusterSum::start_coordinates). Those of processors
  /// are of no step from then on, until update_owned().
  void start_coordinates() {
    has_strides_ = false;
    sum_.start_coordinates(listed_, mobility_);
  }
  /// Tells whether there is a list that holds as long as no atom has moved too far.
  bool has_list() const { return is_listed_ || is_listed_on_device_; }
  /// Lets a device list by itself what is near where its atoms are, after start_coordinates(); `velocity` is its memory, by
  /// slot. Returns false where it can't. Processors need another list then.
  bool make_list_on_device(const Velocity* velocity);
  /// Tells whether a device can follow searches of its own.
  bool can_follow_on_device();
  /// Lets it follow one, between start_coordinates() and make_list_on_device(). Slots here are those of the last search by
  /// processors until rebuild().
  void follow_on_device(const domain::SortedAtoms& sorted) { sum_.follow_on_device(sorted); }
  /// Follows the box that has changed with atoms on a device; make_list_on_device() comes next. Processors need another
  /// list then, too.
  void follow_box_on_device() {
    is_listed_ = is_listed_on_device_ = false;
    sum_.set_shifts();
  }
  /// Adds the virial that a device has summed with forces, once it has ended.
  void add_sums_of_device(EnergyVirial& sums) { sum_.add_sums_of_device(sums); }
  void add_forces(std::span<Accumulator> by_thread) { sum_.add_forces(by_thread); }

  const PairData& data() const { return data_; }
  const PairSettings& settings() const { return data_.settings; }
  const ClusterSum& sum() const { return sum_; }
  std::int64_t n_lists() const { return n_lists_; }                  // made so far
  std::span<const double> charge() const { return data_.charge; }    // by slot, e; padding 0
  std::span<const std::int32_t> type() const { return data_.type; }  // by slot; padding −1
  /// Returns the energy and one diagonal component of the virial of the long-range Lennard-Jones tail, times the volume
  /// of the box.
  TailIntegral tail() const;
  /// Counts the memory beside that of the sum.
  std::size_t bytes() const;
  /// Returns what bytes() would be with so many slots and ExcludedClusters::partners.
  static std::int64_t planned_bytes(std::int64_t slots, std::int64_t excluded_partners);
  /// Returns the bytes of what is held of a system's templates on every rank.
  static std::int64_t template_bytes(const model::System& system);

 private:
  void make_tables();
  void find_exclusions();
  ExcludedAtoms excluded_atoms() const;
  bool update_coordinates(std::int64_t first_cell, std::int64_t last_cell);
  void set_reach();
  void set_strides();

  PairData data_;
  ListSettings list_settings_;
  ClusterSum sum_;
  std::vector<float> table_12a_, table_6b_;  // (types × types), force units
  LookupTable lookup_;
  std::vector<std::vector<std::int32_t>> template_partner_begin_, template_partner_;  // excluded partners by template
  std::vector<std::vector<float>> template_mobility_;                                 // by template and its atom
  std::vector<ClusterPlaces> listed_;  // by cluster: positions of its atoms when the list was made
  std::vector<float> stride_;          // by slot, Å: how far it moved in the last step
  bool has_strides_ = false;           // whether coordinates are those of the last step
  std::vector<float> mobility_;        // by slot: factor for its change of velocity, by mass; hydrogen 1
  bool is_listed_ = false;             // whether there is a list since the last rebuild()
  bool is_listed_on_device_ = false;   // whether a device has made one by itself since the last one here
  std::optional<bool> can_follow_on_device_;
  float typical_stride_ = 0;              // the root mean square of all atoms' steps, Å
  std::optional<bool> own_within_reach_;  // set by update_owned(), cleared by update()
  std::int64_t n_lists_ = 0;
};

}  // namespace tessera::md::pair
