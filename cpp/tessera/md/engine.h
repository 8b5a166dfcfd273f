// A System in motion on the ranks of a communicator: the state of one rank, the forces on it, the integrator that moves
// it. step.cpp is the step on one page.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/md/integrate/failures.h"
#include "tessera/md/integrate/integrator.h"
#include "tessera/md/integrate/motion.h"

namespace tessera::md {

/// Makes the positions that the atoms have now those of a search at this step.
void search_here(Snapshot& snapshot);

class Engine {
 public:
  /// Executes a plan for the box of the system. `integrator`: another one than the settings name. Throws InputError
  /// where the constraints don't fit. References must outlive the engine. Collective.
  Engine(const model::System& system, const EngineSettings& settings, Plan plan, const comm::Communicator& comm,
         ThreadPool& threads, std::unique_ptr<integrate::Integrator> integrator = nullptr);
  Engine(const Engine&) = delete;  // its parts refer to each other

  /// Takes the state on, wherever its atoms come from: every atom on exactly one rank, whole hydrogen groups together.
  /// Throws InputError where its velocities stand half a step before and the integrator takes whole steps.
  /// Collective.
  void set_state(Snapshot snapshot);
  /// Returns this rank's atoms with ids from begin to end.
  Snapshot snapshot(std::int64_t begin, std::int64_t end) const;
  Snapshot snapshot() const { return snapshot(0, system_.n_atoms()); }
  /// Returns what belongs to all atoms. Where a device moves atoms, these stay there.
  const GlobalState& global() const { return state_; }
  const State& state() const {
    bring_home();
    return state_;
  }
  /// Returns this rank's own atoms, wherever they are: those that a device moves are copied, and stay there.
  OwnAtoms atoms() const;

  /// Moves cells to other ranks: the bricks are of the same cells, and no bit depends on them. Collective.
  void set_bricks(domain::Decomposition bricks);

  /// Corrects constrained distances, velocities along them, and the places of virtual sites, as a start from people's
  /// files needs. Throws InputError where that can't be. Collective.
  void constrain_start();
  /// Draws velocities from a Maxwell distribution, keyed by seed and atom id, exactly at the temperature (K).
  /// Collective.
  void generate_velocities(double temperature, std::uint64_t seed);

  /// Removes the part of the velocities along constrained distances. Collective.
  void project_velocities();
  /// Advances velocities that stand so long (ps) before the positions to whole steps. Collective.
  void advance_velocities(double time);

  /// Lets `move` displace this rank's owned atoms otherwise than by a step, each by less than the buffer, and computes
  /// forces and energies where they are then. Slots may change. Collective. Throws RunError on blow-up.
  void displace(const std::function<void(State&)>& move);
  /// Returns the values that stay with their atoms. Callers may add and change their own, all ranks alike.
  std::vector<AtomField>& fields() {
    bring_home();
    return state_.fields;
  }

  /// Changes the box, and the atoms with it (Motion::set_box), by any factor; a search follows. Throws InputError where
  /// the cutoff doesn't fit, before anything has changed. measure() comes next. Collective.
  void set_box(const Box& box);
  /// Takes the place of all external forces. measure() comes next. Collective.
  void set_external_forces(external::ExternalForces forces);

  /// Gives the baths other temperatures, pressures or times; what they hold stays. They are of the same kinds and have
  /// the same atoms.
  void set_baths(integrate::BathSettings baths);

  /// Computes forces (and energies) at the current positions. Collective.
  void compute_forces(bool with_energies);
  /// Sums what compute_forces(true) left on threads and ranks into energies(). Collective.
  void sum_energies();
  /// Computes forces and energies of a configuration that no step led to: the start of a run. Brings velocities of
  /// whole steps to the times of the integrator. Collective.
  void measure();
  /// Does one step of the integrator; energies are summed where asked for. Collective. Throws BlowUp.
  void step(bool with_energies);

  /// Throws BlowUp where any rank has found the run blown up since the last step's check. Collective.
  void check() const;
  /// Finds the strongest force on any atom, among those of all ranks. Collective.
  StrongestForce find_strongest_force(std::int64_t atom);

  const Energies& energies() const { return layout_->motion.energies(); }
  std::int64_t energies_step() const { return energies_step_; }
  /// Finds the pairs of atoms that clashed when forces were last computed with energies, of all ranks. Collective.
  Clashes find_clashes() const { return forces().find_clashes(); }
  std::int64_t current_step() const { return state_.step; }
  std::int64_t n_searches() const { return n_searches_; }
  /// Counts the steps that a device did without processors.
  std::int64_t n_steps_on_device() const { return n_steps_on_device_; }
  std::int64_t n_pair_lists() const { return n_pair_lists_before_ + layout_->forces.pairs().n_lists(); }
  std::int64_t degrees_of_freedom() const { return degrees_of_freedom_; }
  const Plan& plan() const { return layout_->plan; }
  const domain::Domain& domain() const {
    bring_home();
    return layout_->domain;
  }
  const EngineSettings& settings() const { return settings_; }
  const model::System& system() const { return system_; }
  const Forces& forces() const {
    bring_home();
    return layout_->forces;
  }
  const Topology& topology() const {
    bring_home();
    return topology_;
  }
  /// Returns the force on an owned slot, kcal/mol/Å.
  Vec3 force(std::int32_t slot) const { return forces().on(slot); }
  Timers& timers() { return timers_; }
  /// Returns the processor time that this rank has spent on its own atoms, waits for others left out, s.
  double work_seconds() const { return work_seconds_; }
  /// Returns the bytes that are held on a device.
  std::int64_t device_bytes() const { return forces().device_bytes() + layout_->motion.device_bytes(); }
  /// Lists what holds this rank's memory between steps.
  std::vector<MemoryUse> memory() const;
  /// Says which atom has left the longest frame that a vacuum may have; empty where none has. The run can go on to the
  /// next search, and must end before.
  const std::string& beyond_frame() const { return beyond_frame_; }

 private:
  /// What follows from a plan.
  struct Layout {
    Layout(Engine& engine, Plan its_plan);

    Plan plan;
    domain::Domain domain;
    Forces forces;
    integrate::Motion motion;
  };

  /// What becomes of a step whose atoms a device has moved: it computes their forces, processors do, or it has lost them.
  enum class AfterDrift { done, by_processors, lost };

  template <class Function>
  void work(Phase phase, Function&& function);
  void advance(bool with_energies);
  AfterDrift follow_on_device(StepSums sums);
  void go_back();
  void bring_home() const;
  bool is_sound_on_device() const;
  bool needs_search() const;
  void follow_atoms(StepSums sums, GroupSet due);
  void add_forces(bool make_list);
  Energies sum_step();
  void lay_out(Plan plan);
  void place(Particles particles);
  void adopt(const domain::SortedSlots& sorted);
  bool search_on_device();
  void rebuild_lists();
  void search();
  void follow_box();
  std::optional<CellPlan> same_cells() const;
  void take_cells(const CellPlan& cells);
  void follow_atoms_of_vacuum();
  void fit_frame(Snapshot& snapshot);
  std::string describe_outermost(const Snapshot& own) const;
  Plan plan_for(const Box& box, std::optional<domain::Decomposition> bricks = std::nullopt) const;
  bool is_search_due() const { return state_.step - state_.last_search >= settings_.search_every; }
  double allowed_displacement() const { return allowed_displacement(state_.box); }
  double allowed_displacement(const Box& box) const;
  bool needs_search_for(const Box& trial);
  void compute_in(const Box& trial);
  void try_box(const Box& trial);
  bool expects_search() const;
  void start_check();
  bool must_search();
  void place_virtual_sites();
  void move_virtual_sites();
  std::string describe_undetermined(std::int32_t slot) const;
  void report(const integrate::Failure& failure);
  void report_blow_up(const std::string& problem);

  const model::System& system_;
  EngineSettings settings_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  State state_;
  Topology topology_;
  external::ExternalForces external_forces_;
  std::unique_ptr<integrate::Integrator> integrator_;
  std::vector<double> degrees_of_baths_;  // by heat bath
  std::unique_ptr<Layout> layout_;
  Timers timers_;
  double work_seconds_ = 0;
  /// What it was when atoms left for a device.
  struct BeforeDevice {
    GlobalState state;
    CellPlan cells;
    std::array<double, 6> scaling_virial{};
    std::int64_t n_steps_on_device = 0, n_searches = 0;
  };
  BeforeDevice before_device_;
  std::int64_t n_steps_on_device_ = 0;
  std::int64_t n_searches_ = 0, n_pair_lists_before_ = 0, degrees_of_freedom_ = 0, energies_step_ = 0;
  std::string blow_up_;                       // what this rank found
  vacuum::Extent extent_ = vacuum::anywhere;  // of the atoms of a vacuum at the last search
  std::string beyond_frame_;
  /// What ranks tell each other in a step, the greatest of all ranks: how far an atom has moved since the last search
  /// (the bits of its square, Å²), and whether a rank has blown up or needs a new pair list.
  enum : std::size_t { displacement2, has_blown_up, needs_list };
  std::array<std::int64_t, 3> check_{};  // of this step, or of the last one
  comm::Request check_request_;
};

}  // namespace tessera::md
