// All forces on a rank's atoms: bonded terms, the direct sum, the mesh. They are added in groups (force_groups.h), as
// integers, so that neither threads nor ranks nor the order of adding change a bit.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/bonded/bonded.h"
#include "tessera/md/bonded/device/device_bonded.h"
#include "tessera/md/bonded/tables.h"
#include "tessera/md/device/device_atoms.h"
#include "tessera/md/domain/device/device_search.h"
#include "tessera/md/energies.h"
#include "tessera/md/external/external_sum.h"
#include "tessera/md/memory/memory_use.h"
#include "tessera/md/pair/pair_forces.h"
#include "tessera/md/phases.h"
#include "tessera/md/plan.h"
#include "tessera/md/pme/mesh.h"
#include "tessera/md/restraint/restraints.h"
#include "tessera/md/topology.h"

namespace tessera::md {

struct AtomInQuestion;  // of blow_up.h
struct StrongestForce;

class Forces {
 public:
  /// Keeps references, which must outlive this. Collective.
  Forces(const model::System& system, const EngineSettings& settings, const Plan& plan, domain::Domain& domain,
         const Topology& topology, const external::ExternalForces& external, const comm::Communicator& comm,
         ThreadPool& threads);

  /// Rebuilds lists by slot after a search, when the topology knows the new slots.
  void rebuild();
  /// Adapts pair lists and mesh after the box of the state has changed from `before` without a search.
  void set_box(const Box& before);

  /// Sets the greatest distance that an atom may move from where a pair list has it, Å.
  void set_most_reach(double reach) { pair_.set_most_reach(reach); }

  /// Finds the atoms of external forces after some were added or removed.
  void follow_external() { external_.rebuild(); }

  /// Begins a step; the functions from here on are called in this order. Forces are complete after finish_return() and,
  /// where there are virtual sites, spread_virtual_sites(). Only the groups that are due are computed; the others keep
  /// the forces of the last step in which they were, up to the next rebuild().
  void clear(StepSums sums, GroupSet due = all_groups);
  /// Updates the coordinates of owned atoms for the pair kernels, as soon as these have moved.
  void update_owned() { pair_.update_owned(); }
  /// Adds pairs without halo atoms while halo positions are on their way. `meanwhile` is called now and then.
  void add_inner_pairs(const std::function<void()>& meanwhile) {
    if (is_due(ForceSource::direct)) pair_.add_inner_forces(group_of(ForceSource::direct).accumulators, meanwhile);
  }
  /// Lets a device begin with all forces that it computes, from where processors know the atoms to be.
  void start_device();
  /// Adds the bonded terms, unless a device has begun with them.
  void add_bonded();
  bool has_external() const { return !external_.is_empty(); }
  /// Adds the forces of external functions. Collective.
  void add_external() {
    if (is_due(ForceSource::external)) external_.add(group_of(ForceSource::external).accumulators.front());
  }
  bool has_restraints() const { return !settings_.restraints.empty(); }
  /// Adds restraints, which act with the bonded terms. Collective.
  void add_restraints() {
    if (is_due(ForceSource::bonded)) restraints_.add(group_of(ForceSource::bonded).accumulators);
  }
  void update_pair_list(bool make_list) { pair_.update(make_list); }
  bool has_device() const { return on_device_ != nullptr; }
  /// Waits for a device that has begun, and adds its forces. Where it has failed it adds none of them, and the bonded
  /// terms that it should have computed; the functions that follow do the rest.
  void finish_device();
  // What follows is for atoms that a device moves by itself (integrate::Motion).

  DeviceAtoms* atoms_on_device() const { return on_device_.get(); }
  /// Tells whether a device computes all forces, so that atoms and forces can stay there.
  bool are_all_on_device() const;
  /// Tells whether a device has the forces on all atoms as they were last computed, with nothing left to processors.
  bool has_total_on_device() const { return has_total_on_device_; }
  /// Lets the device make coordinates of clusters of where it has moved atoms, and tell of the forces before.
  void start_check();
  bool has_pair_list() const { return pair_.has_list(); }
  /// Lets the device list what is near where it has moved atoms; `velocity` is its memory, by slot. Returns false where it
  /// can't.
  bool make_list_on_device(const Velocity* velocity) { return pair_.make_list_on_device(velocity); }
  /// Lets the device sort atoms into cells where it has moved them, as Domain::rebuild() does, and follows it with what
  /// computes forces there; make_list_on_device() comes next. Returns nullptr where it can't, and has changed nothing then
  /// unless the device has failed. Slots here stay those of the last search by processors.
  const domain::SortedAtoms* search_on_device();
  /// Returns where that device has sorted atoms.
  domain::DeviceSearch& device_search() { return *search_; }
  /// Tells whether a device can sum all energies where it has moved the atoms.
  bool has_energies_of_device() const { return pair_.has_energies_of_device(); }
  /// Lets the device compute all forces there, with the sums that are asked for.
  void start_on_device(StepSums sums);
  /// Takes the sums of a device that has ended and was asked for them; processors add their share.
  void take_sums_of_device();
  /// Follows the box after it has changed with atoms on the device, which makes another pair list.
  void follow_box_on_device();
  /// Tells whether a device that has ended left nothing to processors, and failed at nothing.
  bool is_device_sound() const;
  /// Tells the same of the forces before start_check(), once that has been waited for.
  bool were_last_sound() const;
  /// Returns the forces that were fetched from the device, (3·slots), or takes such.
  std::span<const std::int64_t> fetched_total() const { return on_device_->fetched(0); }
  void take_total(std::span<const std::int64_t> total) { threads_.copy(total, std::span(groups_.front().force)); }

  void add_pairs() {
    if (is_due(ForceSource::direct)) pair_.add_forces(group_of(ForceSource::direct).accumulators);
  }
  /// Starts to send the forces on halo atoms to their owners.
  void start_return();
  /// Returns what went wrong on this rank; empty where nothing did.
  [[nodiscard]] std::string add_mesh(Timers& timers) {
    return is_due(ForceSource::mesh) ? mesh_.add_forces(group_of(ForceSource::mesh).accumulators, timers) : "";
  }
  void sum_threads_of_owned();
  void finish_return();
  /// Spreads the forces on virtual sites to their parents.
  void spread_virtual_sites();

  /// Returns the forces of all groups together as they were last computed, (3·slots) in units of force_unit; those of
  /// owned slots are complete.
  const std::vector<std::int64_t>& total() const { return groups_.size() > 1 ? total_ : groups_.front().force; }
  const std::vector<std::int64_t>& of_group(std::size_t group) const { return groups_[group].force; }
  std::size_t n_groups() const { return groups_.size(); }
  /// Returns the force on an owned slot, kcal/mol/Å.
  Vec3 on(std::int32_t slot) const { return value_of(total(), slot); }
  /// Returns the same of one group, as it was last computed.
  Vec3 on(std::int32_t slot, std::size_t group) const { return value_of(of_group(group), slot); }
  /// Returns the sums to which a thread adds the virial of constraint forces.
  EnergyVirial& constraint_virial(int thread) { return constraint_virial_[static_cast<std::size_t>(thread)]; }
  /// Returns the sums to which a thread adds the part of the virial that is within constraint groups.
  EnergyVirial& virial_within_groups(int thread) { return virial_within_groups_[static_cast<std::size_t>(thread)]; }

  /// Sums energies and virial since clear(StepSums::energies) over all threads and ranks, with the terms that depend on
  /// the composition and the box alone; `kinetic` is this rank's kinetic energy in energy units. After
  /// clear(StepSums::virial) the energies of pairs are missing. Collective.
  Energies sum_energies(std::int64_t kinetic, std::int64_t degrees_of_freedom) const;
  /// Returns how many integers that sums over all ranks for so many groups of forces.
  static std::int64_t n_summed(std::size_t n_groups);
  /// Finds the pairs of atoms that clashed when forces were last computed with energies, of all ranks. Collective.
  Clashes find_clashes() const;
  /// Describes which force acts most on an owned atom, of those that this rank knows.
  std::string describe_strongest(std::int32_t slot) const;
  /// Finds the same of any atom among the forces of all ranks, with restraints. Collective.
  StrongestForce find_strongest(std::int64_t atom);

  /// Forces as they were last computed, to be put back where the atoms return to where they were.
  struct Kept {
    std::vector<std::vector<std::int64_t>> of_group;
    std::vector<std::int64_t> total;
  };
  Kept keep() const;
  void put_back(Kept kept);

  const pair::PairForces& pairs() const { return pair_; }
  const pme::Mesh& mesh() const { return mesh_; }
  std::vector<MemoryUse> memory() const;
  /// Tells whether a device computes the bonded terms.
  bool is_bonded_on_device() const { return bonded_on_device_ != nullptr && on_device_->in_use().error().empty(); }
  /// Returns the bytes that are held on a device.
  std::int64_t device_bytes() const;

 private:
  struct Group {
    std::vector<std::int64_t> force;        // (3·slots), of all threads once they are summed
    std::vector<SparseForces> of_thread;    // by thread beyond the first
    std::vector<EnergyVirial> energies;     // by thread
    std::vector<Accumulator> accumulators;  // by thread
  };
  Group& group_of(ForceSource source) { return groups_[settings_.force_groups[source]]; }
  bool is_due(ForceSource source) const { return due_[settings_.force_groups[source]]; }
  std::size_t last_due_group() const;
  GroupSet due_on_device() const;
  void clear_sums(StepSums sums);
  void start_sums_on_device(const double* charge);
  void add_bonded_here();
  bool has_room_for_search() const;
  AtomInQuestion in_question(std::int32_t slot) const;
  static Vec3 value_of(const std::vector<std::int64_t>& force, std::int32_t slot);
  void sum_threads(Group& group, std::int64_t begin, std::int64_t end);
  void sum_groups();
  std::int64_t n_owned_values() const { return 3 * std::int64_t{domain_.n_owned_slots()}; }

  const model::System& system_;
  const EngineSettings& settings_;
  domain::Domain& domain_;
  const Topology& topology_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  bonded::ForceTables tables_;
  std::unique_ptr<DeviceAtoms> on_device_;                  // nullptr: none is used
  std::unique_ptr<bonded::DeviceBonded> bonded_on_device_;  // nullptr: processors compute all kinds
  std::unique_ptr<domain::DeviceSearch> search_;            // nullptr: the device has not searched yet
  bool has_started_bonded_ = false;                         // whether the device has begun with them
  bool has_total_on_device_ = false;
  bool has_sums_on_device_ = false;  // that processors have not taken yet
  pair::PairForces pair_;
  pme::Mesh mesh_;
  external::ExternalSum external_;
  restraint::Restraints restraints_;
  std::vector<Group> groups_;
  GroupSet due_;                                                        // in this step
  std::vector<std::int64_t> total_;                                     // where there are several groups
  std::vector<EnergyVirial> constraint_virial_, virial_within_groups_;  // by thread
  pair::TailIntegral tail_;                                             // times the volume
};

}  // namespace tessera::md
