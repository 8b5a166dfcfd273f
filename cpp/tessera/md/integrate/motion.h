// Provides the operations that integrators are made of; each moves a rank's atoms. They run on all threads, and no
// result depends on how atoms are shared between ranks and threads.
//
// Where a device computes all forces it moves atoms, too: they are away then. What it has no kernel for, and looks at
// positions, velocities and forces, bring them home first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/forces.h"
#include "tessera/md/integrate/device/device_motion.h"
#include "tessera/md/integrate/half_step.h"
#include "tessera/md/settings.h"
#include "tessera/md/state.h"
#include "tessera/md/topology.h"

namespace tessera::md::integrate {

class Motion {
 public:
  /// Takes atoms in slots into which a device has sorted them, and ends with rebuild().
  using Adopt = std::function<void(const domain::SortedSlots&)>;
  /// Keeps references to all other arguments, which must outlive this.
  Motion(const EngineSettings& settings, State& state, const domain::Domain& domain, const Topology& topology,
         Forces& forces, const std::vector<double>& degrees_of_baths, std::int64_t degrees_of_freedom,
         const comm::Communicator& comm, ThreadPool& threads, Adopt adopt);

  /// Updates the masses by slot after a search, and stops fixed atoms and virtual sites.
  void rebuild();

  double timestep() const { return settings_.timestep; }  // ps
  std::int64_t step() const { return state_.step; }
  double time() const { return time_of(state_.step); }  // ps
  double time_of(std::int64_t step) const { return static_cast<double>(step) * timestep(); }
  /// Returns the box and what else belongs to all atoms.
  const GlobalState& state() const { return state_; }
  const Forces& forces() const { return forces_; }
  /// Returns the energies of the last summation, the same on every rank.
  const Energies& energies() const { return energies_; }
  void set_energies(const Energies& energies) { energies_ = energies; }
  /// Returns Energies::group_scaling_virial of the last step that summed it, with or without energies.
  const std::array<double, 6>& scaling_virial() const { return scaling_virial_; }
  void set_scaling_virial(const std::array<double, 6>& virial) { scaling_virial_ = virial; }
  std::int64_t degrees_of_freedom() const { return degrees_of_freedom_; }  // of the whole system
  double degrees_of_freedom_of(std::size_t bath) const { return degrees_of_baths_[bath]; }
  std::int64_t n_groups() const { return topology_.n_groups(); }  // of the whole system
  /// Counts the constraint groups less one where the motion of the centre of mass is removed.
  std::int64_t n_moving_groups() const { return n_groups() - (settings_.com_removal_every > 0 ? 1 : 0); }
  /// Returns by which share the box's edges may change at once so that no search is due after one.
  double largest_change_of_edges() const {
    return 0.5 * settings_.buffer / (settings_.pair.range() + 2 * settings_.buffer + 6);
  }
  /// Returns the variables of a bath, so many, zeros at first. They must be changed alike on all ranks.
  std::vector<double>& coupling(const std::string& name, std::size_t n);
  /// Sends the root's value to all ranks. Ranks compute the same, but processors of different kinds may round
  /// differently.
  void share(std::span<double> values) const { comm_.broadcast(std::as_writable_bytes(values), 0); }
  void share(double& value) const { share(std::span(&value, 1)); }

  /// Applies v += kick·F/m, corrected so that the drift keeps the constraints, and x += drift·v; both in ps. If a rank
  /// finds that the run has blown up, its atoms return to where their forces are known.
  [[nodiscard]] Failure kick_and_drift(double kick, double drift, const std::vector<std::int64_t>& force);
  /// Applies v += kick·F/m minus its part along constrained distances; adds the virial of that part if requested.
  [[nodiscard]] Failure kick_and_project(double kick, const std::vector<std::int64_t>& force, bool with_virial);
  /// Does the same with all forces.
  [[nodiscard]] Failure kick_and_drift(double kick, double drift) {
    return kick_and_drift(kick, drift, forces_.total());
  }
  [[nodiscard]] Failure kick_and_project(double kick, bool with_virial) {
    return kick_and_project(kick, forces_.total(), with_virial);
  }
  /// Applies v += kick·F/m and drifts with constraints like kick_and_drift, with v ← c·v + √((1−c²)·kT/m)·R in the
  /// middle of the drift: c = exp(−dt/τ) and normal deviates R keyed by seed, atom id and step. The heat that all atoms
  /// have got is added to the first coupling variable of this name. Collective.
  [[nodiscard]] Failure kick_and_drift_with_noise(double kick, double drift, const BathSettings& settings,
                                                  const std::string& account);
  /// Removes the motion of the centre of mass from all velocities. Collective.
  void remove_centre_of_mass_motion();
  void scale_velocities(double factor);
  /// Scales the velocities of the atoms of each heat bath.
  void scale_velocities(std::span<const double> factor_of_bath);

  /// Changes the box, the same on every rank, and the atoms with it. The first atom of each constraint group keeps its
  /// fractions of the box, and the others of the group keep their distance from it in Å, so that constraints still
  /// hold. An atom without constraints is a group of its own. Between two searches the box may change by a few per
  /// cent.
  void set_box(const Box& box);

  /// Moves virtual sites to the places that follow from their parents. Returns the slot of one whose direction is
  /// undetermined, or −1.
  std::int32_t place_virtual_sites();
  /// Corrects constrained distances along the present bonds. Returns a message about a group of this rank that can't be
  /// corrected.
  [[nodiscard]] std::string constrain_positions();
  /// Draws velocities from a Maxwell distribution (K), keyed by seed, atom id and step.
  void draw_velocities(double temperature, std::uint64_t seed);
  /// Adds the virial of the constraint forces of a state, which are those that act in the step after it.
  [[nodiscard]] Failure add_constraint_virial();
  /// Moves velocities of whole steps back by half a step.
  [[nodiscard]] Failure move_velocities_back();
  /// Returns the kinetic energy of this rank's atoms as their velocities are, in energy units.
  std::int64_t kinetic_energy() { return share_of_kinetic_energy(1); }
  /// Returns the kinetic energy of this rank's atoms at the time of the positions, in energy units. Where velocities
  /// stand half a step before, it is the mean of the kinetic energies half a step before and after.
  std::int64_t kinetic_energy_of_step();
  struct GroupKineticSums {
    std::array<double, 3> of_groups{};  // Σ M V_d², V the velocity of a constraint group's centre of mass
    double kinetic = 0;                 // the kinetic energy of all atoms
  };
  /// Returns sums over all ranks, kcal/mol. Collective.
  GroupKineticSums group_kinetic_sums();
  /// Scales the velocities of constraint groups as a whole along each axis, then all velocities.
  void scale_group_velocities(double factor, const std::array<double, 3>& of_groups);
  /// Returns the kinetic energy of all ranks, kcal/mol. Collective.
  double total_kinetic_energy() { return sum_of_ranks(kinetic_energy()); }
  /// Returns the kinetic energy of the atoms of each heat bath, kcal/mol. Collective.
  std::vector<double> kinetic_energies();
  /// Returns by how much the kinetic energy of all is more than the sum of these, kcal/mol. Collective.
  double change_of_kinetic_energy(std::span<const double> before);
  /// Returns the sum of the ranks' values in energy units, kcal/mol. Collective.
  double sum_of_ranks(std::int64_t energy) const {
    return from_fixed(comm::all_reduce_sum(comm_, energy), energy_unit);
  }
  /// Adds Σ (r − R)⊗F over all atoms, R the place of the first atom of an atom's constraint group: the part of the
  /// virial that set_box() does no work against, as it moves groups as a whole.
  void add_virial_within_groups();

  /// Begins a step from a state to which the engine can go back.
  void begin_step() { may_leave_ = true; }
  /// Tells whether a device has moved atoms since this host last knew where they are.
  bool is_away() const { return is_away_; }
  /// Brings positions, velocities and forces here, if they are away. Returns false where the device has lost them: those
  /// here are then as they were when atoms left.
  bool bring_home();
  /// Tells whether that has happened.
  bool is_lost() const { return is_lost_; }
  /// Waits for a device that has atoms. Returns false where what it did has to be done again: it has lost them then.
  bool is_sound();
  /// Takes what a device that has atoms has summed in this step of virials.
  void take_sums();
  /// Copies positions, velocities and forces here that are away, for who looks at them; they stay away. Returns false where
  /// the device has lost them.
  bool look();
  /// Returns what look() has copied.
  OwnAtoms seen(std::int64_t n_atoms) const;
  /// Begins anew with atoms as they are here, which stay here until the next search.
  void stay_home();
  /// Lets the device that has moved atoms sort them into cells (Forces::search_on_device). Returns false where it can't.
  bool search_on_device();
  /// Tells whether it has, and atoms here are still in the slots of before.
  bool has_searched_on_device() const { return has_searched_on_device_; }
  /// Lets the device that has moved atoms look whether a search or a list is due.
  void start_check();
  /// Waits for that; nothing where the device has lost the atoms.
  std::optional<AtomCheck> finish_check();

  /// Returns velocities by slot in the memory of the device that atoms are on.
  const Velocity* velocities_on_device() const { return on_device_->velocity(); }

  std::size_t bytes() const;
  std::int64_t device_bytes() const { return on_device_ ? on_device_->bytes() : 0; }

 private:
  HalfStep half_step(double kick, double drift, const std::vector<std::int64_t>& force);
  template <class Half>
  bool start_on_device(double kick, double drift, const std::vector<std::int64_t>& force, Half&& half);
  bool change_here();
  bool wait_for_device(const std::function<void()>& start_fetch);
  void begin_virials();
  void add_virials();
  void adopt_slots();
  std::size_t n_heat_baths() const { return std::max<std::size_t>(1, settings_.baths.heat_baths.size()); }
  bool serves_baths() const;
  bool leave();
  template <class Use>
  bool on_device(Use&& use);
  Failure kick_and_drift_here(double kick, double drift, const std::vector<std::int64_t>& force);
  void take_heat();
  void add_heat(const std::string& account, std::int64_t heat) { coupling(account, 1)[0] += sum_of_ranks(heat); }
  FrictionAndNoise friction_and_noise(const BathSettings& settings) const;
  template <class Half>
  Failure run_half_step(double kick, double drift, const std::vector<std::int64_t>& force, Half&& half);
  void undo_drift(double drift);
  void find_baths();
  template <class Work>
  void for_groups(Work&& work);
  std::int64_t share_of_kinetic_energy(double share);
  /// Tells whether a slot holds an atom that is neither fixed nor a virtual site.
  bool moves(std::int64_t slot) const { return inverse_mass_[static_cast<std::size_t>(slot)] != 0; }

  const EngineSettings& settings_;
  State& state_;
  const domain::Domain& domain_;
  const Topology& topology_;
  Forces& forces_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  const std::vector<double>& degrees_of_baths_;
  std::int64_t degrees_of_freedom_;
  double total_mass_ = 0;             // of the system, amu
  std::vector<double> inverse_mass_;  // by owned slot, amu⁻¹; padding, fixed atoms and virtual sites 0
  std::vector<std::uint8_t> bath_;    // by owned slot, the atom's heat bath; empty where there is one
  Energies energies_;
  std::array<double, 6> scaling_virial_{};

  std::unique_ptr<DeviceMotion> on_device_;  // nullptr: atoms are never away
  Adopt adopt_;
  bool is_away_ = false, is_lost_ = false, stays_home_ = false, has_searched_on_device_ = false;
  bool has_looked_ = false;                          // whether this host has a copy of atoms that are away
  std::vector<std::int64_t> seen_id_;                // of that, by slot, where a device has searched
  bool may_leave_ = false;                           // whether atoms are as when the step began, which is going on
  bool knows_groups_ = false, knows_state_ = false;  // whether the device does
  bool has_virials_ = false;                         // whether the device has any that were not yet added
  std::string account_of_heat_;                      // that the device has given, which is not yet added; empty: none
  std::int64_t heat_taken_ = 0;                      // of what the device has given
};

}  // namespace tessera::md::integrate
