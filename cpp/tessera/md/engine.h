// How a System is simulated: the state of one rank and the step that advances it. step.cpp is the step on one page.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/bonded/tables.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/integrate/half_step.h"
#include "tessera/md/mesh.h"
#include "tessera/md/pair/pair_forces.h"
#include "tessera/md/phases.h"
#include "tessera/md/topology.h"

namespace tessera::md {

struct EngineSettings {
  pair::PairSettings pair;  // alpha and coulomb_constant already chosen (plan_settings)
  bool lj_tail = false;
  int pme_order = 4;
  Index3 pme_grid{};
  std::string fft_scheme = "auto", fft_exchange = "auto";
  std::string machine_file;  // the map of the machine, by which scheme and bricks are chosen; empty: none
  bool reorder = true;       // neighbouring bricks to ranks of one host, then of one subnet; else as numbered
  double buffer = 2.8;       // Å: how far two atoms together may move between searches, which sort atoms into cells
  std::int64_t search_every = 40;  // steps
  double list_steps = 4;           // about how many a list of near pairs lasts; the result is the same
  bool double_precision = false;
  std::string pair_scheme = "auto";
  constraint::ConstraintMode constraints = constraint::ConstraintMode::h_bonds;
  double constraint_tolerance = 1e-10;
  double timestep = 0.002;               // ps
  std::int64_t com_removal_every = 100;  // steps; 0: never
};

/// What a step's forces came from, summed over all ranks. kcal/mol, K, bar.
struct Energies {
  std::array<double, n_terms> term{};
  std::array<double, 6> virial{};  // xx yy zz xy xz yz, with that of the constraints
  double kinetic = 0;

  double temperature = 0;
  double pressure = 0;  // bar; 0 without a box
  double potential() const;
  double total() const { return potential() + kinetic; }
  double operator[](Term t) const { return term[static_cast<std::size_t>(t)]; }
};

/// Bytes by who holds them.
struct MemoryUse {
  std::string_view owner;
  std::int64_t bytes;
};

/// The cell grid that these settings want: global, the same on any ranks.
domain::CellGrid plan_cells(const model::System& system, const EngineSettings& settings);

/// The buffer for which the cells of these settings have room anyway, Å: up to twice the one that was asked for.
double widest_buffer(const model::System& system, const EngineSettings& settings);

/// Whose cells are whose, before costs are known. Throws InputError: too many ranks, or as comm::wires_of_ranks.
/// Collective.
domain::Decomposition plan_decomposition(const model::System& system, const EngineSettings& settings,
                                         const comm::Communicator& comm);

class Engine {
 public:
  /// Checks settings against the system (InputError). Collective; references must outlive the engine.
  Engine(const model::System& system, const EngineSettings& settings, const comm::Communicator& comm,
         ThreadPool& threads);
  /// The same with other bricks of the same cells, which change no bit.
  Engine(const model::System& system, const EngineSettings& settings, domain::Decomposition decomposition,
         const comm::Communicator& comm, ThreadPool& threads);

  /// Places atoms, wherever they come from: every atom on exactly one rank, whole hydrogen groups together.
  /// `last_search` is the step whose search the particles' cells come from. Collective.
  void set_state(std::vector<domain::Particle> particles, std::int64_t step, std::int64_t last_search);

  /// Puts constrained distances right (and velocities along them), as a start from people's files needs. Collective.
  void constrain_start();
  /// Velocities from a Maxwell distribution, keyed by seed and atom id, exactly at the temperature (K). Collective.
  void generate_velocities(double temperature, std::uint64_t seed);

  /// Forces (and energies) at the current positions. Collective.
  void compute_forces(bool with_energies);
  /// Sums what compute_forces(true) left on threads and ranks into energies(). Collective.
  void sum_energies();
  /// Forces and energies of a configuration that no step led to: the start of a run. Collective.
  void measure();
  /// One step of velocity Verlet; energies are summed where asked for. Collective. Throws RunError on blow-up.
  void step(bool with_energies);

  /// Throws RunError where any rank has found the run blown up since the last step's check. Collective.
  void check() const { comm::agree_on_run(comm_, blow_up_); }

  const Energies& energies() const { return energies_; }
  /// Pairs of atoms that clashed when forces were last computed with energies, of all ranks. Collective.
  Clashes find_clashes() const;
  std::int64_t current_step() const { return step_; }
  std::int64_t last_search() const { return last_search_; }
  std::int64_t n_searches() const { return n_searches_; }
  std::int64_t degrees_of_freedom() const { return degrees_of_freedom_; }
  const domain::Domain& domain() const { return domain_; }
  const EngineSettings& settings() const { return settings_; }
  const model::System& system() const { return system_; }
  const pair::PairForces& pair_forces() const { return pair_; }
  const Topology& topology() const { return topology_; }
  /// Owned atoms with their place at the last search and what they moved since: a checkpoint's content. Of those with
  /// ids from begin to end.
  std::vector<domain::Particle> owned_particles(std::int64_t begin, std::int64_t end) const;
  std::vector<domain::Particle> owned_particles() const { return owned_particles(0, system_.n_atoms()); }
  /// Force on an owned slot, kcal/mol/Å.
  Vec3 force(std::int32_t slot) const;
  Timers& timers() { return timers_; }
  /// Processor time that this rank has spent on its own atoms, waits for others left out, s.
  double work_seconds() const { return work_seconds_; }
  /// What holds this rank's memory between steps.
  std::vector<MemoryUse> memory() const;

 private:
  template <class Function>
  void work(Phase phase, Function&& function);
  void rebuild_lists();
  void search();
  bool is_search_due() const { return step_ - last_search_ >= settings_.search_every; }
  double allowed_displacement() const;
  bool expects_search() const;
  void start_check();
  bool must_search();
  void add_forces(bool make_list);
  void clear_forces(bool with_energies);
  void add_bonded_forces();
  void sum_threads(std::int64_t begin, std::int64_t end);
  std::int64_t force_size() const { return static_cast<std::int64_t>(force_.size()); }
  void first_half();
  void second_half(bool with_energies);
  void report_blow_up(const std::string& problem);
  template <class Half>
  integrate::Failure run_half_step(double kick, Half&& half);
  void project_velocities(double kick, bool with_virial);
  void undo_drift();
  void report(const integrate::Failure& failure);
  void add_start_constraint_virial();
  void remove_centre_of_mass_motion();
  std::int64_t kinetic_energy();

  const model::System& system_;
  EngineSettings settings_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  domain::Domain domain_;
  Topology topology_;
  bonded::ForceTables tables_;
  pair::PairForces pair_;
  Mesh mesh_;
  Timers timers_;
  double work_seconds_ = 0;

  std::int64_t step_ = 0, last_search_ = 0, n_searches_ = 0, degrees_of_freedom_ = 0;
  std::vector<double> inverse_mass_;        // by owned slot, amu⁻¹; padding 0
  std::vector<std::int64_t> force_;         // (3·slots), of all threads after sum_threads()
  std::vector<SparseForces> thread_force_;  // by thread beyond the first
  std::vector<EnergyVirial> thread_energies_;
  std::vector<Accumulator> accumulators_;
  std::string blow_up_;  // what this rank found
  /// What ranks tell each other in a step, of all the greatest: how far an atom has moved since the last search (the
  /// bits of its square, Å²), and whether a rank has blown up or needs a new pair list.
  enum : std::size_t { displacement2, has_blown_up, needs_list };
  std::array<std::int64_t, 3> check_{};  // of this step, or of the last one
  comm::Request check_request_;
  Energies energies_;
  pair::TailIntegral tail_;
};

}  // namespace tessera::md
