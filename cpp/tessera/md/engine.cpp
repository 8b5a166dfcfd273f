#include "tessera/md/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/base/units.h"
#include "tessera/md/blow_up.h"
#include "tessera/md/constraint/whole_groups.h"

namespace tessera::md {

namespace {

/// Shares the degrees of freedom between heat baths: what each has by its atoms and constraints, less its part of those
/// of the centre of mass.
std::vector<double> degrees_of_heat_baths(const model::System& system, const EngineSettings& settings,
                                          std::int64_t of_all) {
  const auto& baths = settings.baths.heat_baths;
  if (baths.size() < 2) return {static_cast<double>(of_all)};
  const auto constraints = constraint::make_constraints(system, settings.constraints);
  std::vector<double> degrees;
  for (const auto& bath : baths) {
    const auto all = constraint::count_whole_groups(system, constraints, bath.atoms, "bath.select");
    const auto fixed =
        constraint::count_whole_groups(system, constraints, intersection(bath.atoms, settings.fixed), "dynamics.fixed");
    degrees.push_back(static_cast<double>(3 * (all.n_atoms - fixed.n_atoms) - all.n_constraints + fixed.n_constraints));
  }
  const double sum = std::accumulate(degrees.begin(), degrees.end(), 0.0);
  for (auto& n : degrees) n *= static_cast<double>(of_all) / sum;
  return degrees;
}

}  // namespace

void search_here(Snapshot& snapshot) {
  snapshot.search_box = snapshot.box;
  snapshot.last_search = snapshot.step;
  for (auto& atom : snapshot.atoms) {
    atom.position = atom.position + atom.displacement;
    atom.displacement = {};
  }
}

Engine::Layout::Layout(Engine& engine, Plan its_plan)
    : plan(std::move(its_plan)),
      domain(engine.system_, plan.bricks, engine.state_, engine.comm_, engine.threads_),
      forces(engine.system_, engine.settings_, plan, domain, engine.topology_, engine.external_forces_, engine.comm_,
             engine.threads_),
      motion(engine.settings_, engine.state_, domain, engine.topology_, forces, engine.degrees_of_baths_,
             engine.degrees_of_freedom_, engine.comm_, engine.threads_,
             [&engine](const domain::SortedSlots& sorted) { engine.adopt(sorted); }) {}

Engine::Engine(const model::System& system, const EngineSettings& settings, Plan plan, const comm::Communicator& comm,
               ThreadPool& threads, std::unique_ptr<integrate::Integrator> integrator)
    : system_(system),
      settings_(settings),
      comm_(comm),
      threads_(threads),
      topology_(system, settings.constraints, settings.fixed),
      integrator_(integrator ? std::move(integrator) : integrate::make_integrator(settings)) {
  state_.box = state_.search_box = system.box;
  state_.velocity_time = integrator_->velocity_time();
  degrees_of_freedom_ = std::max<std::int64_t>(
      1, 3 * topology_.n_moving() - topology_.n_constraints() - integrator_->removed_degrees_of_freedom());
  degrees_of_baths_ = degrees_of_heat_baths(system_, settings_, degrees_of_freedom_);
  layout_ = std::make_unique<Layout>(*this, std::move(plan));
}

/// Executes another plan; place() follows.
void Engine::lay_out(Plan plan) {
  const auto energies = layout_->motion.energies();
  const auto scaling_virial = layout_->motion.scaling_virial();
  n_pair_lists_before_ += layout_->forces.pairs().n_lists();
  layout_.reset();  // two of them might not fit into memory
  layout_ = std::make_unique<Layout>(*this, std::move(plan));
  layout_->motion.set_energies(energies);
  layout_->motion.set_scaling_virial(scaling_virial);
}

void Engine::set_state(Snapshot snapshot) {
  if (snapshot.velocity_time != VelocityTime::whole_step && snapshot.velocity_time != integrator_->velocity_time())
    throw InputError(
        fmt::format("the velocities of this state stand half a step before, and {} takes them at whole steps: start "
                    "from a state of the same integrator",
                    settings_.integrator));
  if (!system_.is_periodic) fit_frame(snapshot);
  const bool is_same_box = snapshot.search_box == state_.search_box && snapshot.box == state_.box;
  static_cast<GlobalState&>(state_) = std::move(static_cast<GlobalState&>(snapshot));
  if (!is_same_box || !system_.is_periodic) lay_out(plan_for(state_.search_box));
  place(std::move(static_cast<Particles&>(snapshot)));
}

Snapshot Engine::snapshot(std::int64_t begin, std::int64_t end) const {
  const auto own = atoms();
  Snapshot snapshot;
  static_cast<GlobalState&>(snapshot) = state_;
  for (const auto& field : own.fields) snapshot.fields.push_back({field.name, field.width, {}});
  snapshot.atoms.reserve(at(std::min(own.n_atoms, end - begin)));
  for (std::size_t s = 0; s < own.id.size(); ++s) {
    if (own.id[s] < begin || own.id[s] >= end) continue;  // padding too
    snapshot.atoms.push_back({own.id[s], own.reference[s], own.velocity[s], own.position[s] - own.reference[s]});
    for (std::size_t f = 0; f < own.fields.size(); ++f) {
      const auto& [name, width, values] = own.fields[f];
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(s * width);
      snapshot.fields[f].values.insert(snapshot.fields[f].values.end(), first,
                                       first + static_cast<std::ptrdiff_t>(width));
    }
  }
  return snapshot;
}

void Engine::set_bricks(domain::Decomposition bricks) {
  bring_home();
  Snapshot own = snapshot();
  lay_out(plan_for(state_.search_box, std::move(bricks)));
  place(std::move(static_cast<Particles&>(own)));
}

void Engine::set_box(const Box& box) {
  if (!settings_.fixed.empty())
    throw InputError("the box can't change while atoms are fixed (dynamics.fixed), as it would move them");
  if (!system_.is_periodic) throw InputError("a vacuum has no box to set: its frame follows the atoms");
  auto plan = plan_for(box);  // which may throw: before anything changes
  bring_home();
  layout_->motion.set_box(box);
  auto own = snapshot();
  search_here(own);
  lay_out(std::move(plan));
  static_cast<GlobalState&>(state_) = std::move(static_cast<GlobalState&>(own));
  place(std::move(static_cast<Particles&>(own)));
}

void Engine::set_external_forces(external::ExternalForces forces) {
  bring_home();
  external_forces_ = std::move(forces);
  layout_->forces.follow_external();
}

void Engine::set_baths(integrate::BathSettings baths) {
  bring_home();  // steps that are done again would have the new ones
  settings_.baths = std::move(baths);
  integrator_ = integrate::make_integrator(settings_);  // all that lasts from step to step is in the state
}

/// Sends every atom to the rank that owned its cell at the last search, and moves it from there to its present
/// position.
void Engine::place(Particles particles) {
  layout_->domain.distribute(std::move(particles));
  rebuild_lists();
  layout_->domain.apply_displacements();
  ++n_searches_;
}

/// Takes atoms in slots into which a device has sorted them.
void Engine::adopt(const domain::SortedSlots& sorted) {
  layout_->domain.adopt(sorted);
  rebuild_lists();
}

/// Rebuilds everything that depends on which atoms are in which slots.
void Engine::rebuild_lists() {
  std::string torn;
  try {
    topology_.rebuild(layout_->domain, threads_);
  } catch (const RunError& error) {
    torn = fmt::format("step {}: {}", state_.step, error.what());
  }
  comm::agree_on_run(comm_, torn);
  layout_->forces.rebuild();
  layout_->motion.rebuild();
}

/// Moves atoms to the cells that they are in now, and rebuilds every list.
void Engine::search() {
  state_.last_search = state_.step;
  if (!system_.is_periodic)
    follow_atoms_of_vacuum();
  else if (!(state_.search_box == state_.box))
    follow_box();
  layout_->domain.rebuild();
  rebuild_lists();
  ++n_searches_;
}

/// Lets the device that has moved the atoms search, as search() does. Returns false where processors have to, with nothing
/// changed.
bool Engine::search_on_device() {
  if (!state_.fields.empty()) return false;
  const auto cells_before = layout_->plan.cells;
  const auto box_before = state_.search_box;
  if (!(box_before == state_.box)) {
    try {
      const auto cells = same_cells();
      if (!cells) return false;
      take_cells(*cells);
    } catch (const InputError&) {
      return false;  // processors tell of it
    }
  }
  state_.search_box = state_.box;
  if (!layout_->motion.search_on_device()) {
    take_cells(cells_before);
    state_.search_box = box_before;
    return false;
  }
  state_.last_search = state_.step;
  ++n_searches_;
  return true;
}

/// Makes the cell grid that of the present box, and plans anew where the number of cells or the mesh no longer fits it.
void Engine::follow_box() {
  state_.search_box = state_.box;
  const auto in_this_box = [&](auto&& plan) {
    try {
      return plan();
    } catch (const InputError& error) {
      throw integrate::BoxFailure(
          fmt::format("step {}: the box has changed: {}", state_.step, error.what()));  // on every rank
    }
  };
  if (const auto cells = in_this_box([&] { return same_cells(); })) return take_cells(*cells);
  auto own = snapshot();
  search_here(own);
  lay_out(in_this_box([&] { return plan_for(state_.box); }));
  layout_->domain.distribute(std::move(static_cast<Particles&>(own)));
}

/// Plans cells for the present box, if they are as many as now and the mesh still fits. Throws InputError where no cells
/// fit.
std::optional<CellPlan> Engine::same_cells() const {
  const auto cells = plan_cells(summary_of(system_), settings_, state_.box);
  const auto& plan = layout_->plan;
  const bool mesh_holds = !plan.mesh || pme::holds(*plan.mesh, state_.box.heights(), cells.margin());
  if (!mesh_holds || cells.grid.n != plan.cells.grid.n) return {};
  return cells;
}

/// Makes cells those of the present box, as many as before.
void Engine::take_cells(const CellPlan& cells) {
  layout_->plan.cells = cells;
  layout_->forces.set_most_reach(0.5 * cells.buffer);
}

Plan Engine::plan_for(const Box& box, std::optional<domain::Decomposition> bricks) const {
  return plan_for_ranks(system_, settings_, box, comm_, threads_, std::move(bricks), extent_);
}

/// Makes frame and cells those of the atoms' present positions in a vacuum, and plans anew where these have changed.
void Engine::follow_atoms_of_vacuum() {
  auto own = vacuum::nowhere;
  for (std::int32_t s = 0; s < layout_->domain.n_owned_slots(); ++s)
    if (!layout_->domain.is_padding(s)) own.add(state_.position[at(s)]);
  extent_ = vacuum::extent_of_all(own, comm_);
  const auto before = state_.box;
  const auto [doublings, is_full] = vacuum::fit(state_.box, extent_, settings_.pair.range(), settings_.buffer);
  for (auto& position : state_.position) position = vacuum::halved(position, doublings);
  state_.search_box = state_.box;
  if (is_full && !beyond_frame_.empty()) throw RunError(beyond_frame_);  // on every rank
  if (is_full) beyond_frame_ = fmt::format("step {}: {}", state_.step, describe_outermost(snapshot()));
  const auto cells = plan_cells(summary_of(system_, extent_), settings_, state_.box);
  auto& now = layout_->plan.cells;
  if (state_.box == before && cells.grid.whole() == now.grid.whole() && now.grid.contains(cells.grid)) {
    now.range = cells.range;
    now.buffer = cells.buffer;
    layout_->forces.set_most_reach(0.5 * cells.buffer);
    return;
  }
  auto atoms = snapshot();
  search_here(atoms);
  lay_out(plan_for(state_.box));
  layout_->domain.distribute(std::move(static_cast<Particles&>(atoms)));
}

/// Sets the frame of a state to what it was at the last search. A checkpoint of this program needs no change.
void Engine::fit_frame(Snapshot& snapshot) {
  auto own = vacuum::nowhere;
  for (const auto& atom : snapshot.atoms) own.add(atom.position);
  auto extent = vacuum::extent_of_all(own, comm_);
  const auto [doublings, is_full] = vacuum::fit(snapshot.box, extent, settings_.pair.range(), settings_.buffer);
  snapshot.search_box = snapshot.box;
  for (auto& atom : snapshot.atoms) {
    const auto now = vacuum::halved(atom.position + atom.displacement, doublings);
    atom.position = vacuum::halved(atom.position, doublings);
    atom.displacement = now - atom.position;
  }
  if (is_full) throw InputError(describe_outermost(snapshot));  // on every rank
  extent_ = extent;
  beyond_frame_.clear();
}

/// Names the atom of all ranks that is furthest from the middle of the frame along an axis. Collective.
std::string Engine::describe_outermost(const Snapshot& own) const {
  struct Outermost {
    double distance = -1;  // Å
    std::int64_t atom = -1;
  };
  std::vector<Outermost> outermost(1);
  const auto offer = [&](const Outermost& one) {
    auto& most = outermost.front();
    if (one.distance > most.distance || (one.distance == most.distance && one.atom < most.atom)) most = one;
  };
  for (const auto& atom : own.atoms) {
    const Vec3 r = own.box.cartesian(atom.position + atom.displacement);
    offer({std::max({std::abs(r.x), std::abs(r.y), std::abs(r.z)}), atom.id});
  }
  for (const auto& block : comm_.all_gather(comm::bytes_of(outermost)))
    for (const auto& one : comm::values_of<Outermost>(block)) offer(one);
  return fmt::format(
      "{} is {:.0f} Å from the middle of the vacuum, where positions would be rounded to more than 10⁻⁵ Å: remove what "
      "has flown away, or hold it with a restraint",
      system_.describe(outermost.front().atom), outermost.front().distance);
}

/// Returns how far an atom may move before a search is due, Å. Two atoms may have moved towards each other, and a box
/// that shrinks brings cells together; a thousandth covers the list's single precision.
double Engine::allowed_displacement(const Box& box) const {
  const double least_scale = std::min(1.0, least_stretch(deformation(state_.search_box, box)));
  const auto& [grid, range, group_radius, buffer] = plan().cells;
  const double furthest = range + buffer + 2 * group_radius;
  return 0.5 * buffer - 1e-3 - 0.5 * (1 - least_scale) * furthest;
}

/// Returns whether a search would be due in another box: the same answer on all ranks, and after a restart.
bool Engine::needs_search_for(const Box& trial) {
  double moved = std::sqrt(layout_->domain.greatest_displacement2()), greatest_scale = 1, change = 0;
  comm_.all_reduce_max(std::span(&moved, 1));
  const auto stretch = deformation(state_.box, trial);  // along the axes
  for (const double scale : {stretch.xx, stretch.yy, stretch.zz}) {
    greatest_scale = std::max(greatest_scale, scale);
    change = std::max(change, std::abs(scale - 1));
  }
  // Atoms go with the first atom of their group, not with the box.
  return greatest_scale * moved + change * 2 * plan().cells.group_radius >= allowed_displacement(trial);
}

/// Changes the box on trial, and back where the integrator does not accept the energy there. Forces are then those of
/// the box that the system is in.
void Engine::try_box(const Box& trial) {
  const bool is_searched = needs_search_for(trial);
  if (is_searched) timers_.time(Phase::search, [&] { search(); });
  const auto before = state_.box;
  const auto position = state_.position;
  auto forces = layout_->forces.keep();
  const auto n_searches = n_searches_;
  compute_in(trial);
  TESSERA_CHECK(n_searches_ == n_searches);
  const auto energies = layout_->forces.sum_energies(0, degrees_of_freedom_);
  if (integrator_->accepts(layout_->motion, before, energies.potential())) return;
  state_.position = position;
  state_.box = before;
  layout_->forces.set_box(trial);
  if (is_searched)
    compute_forces(false);
  else
    layout_->forces.put_back(std::move(forces));
}

/// Estimates from the last check whether this step's will find that a search is due: an atom that goes far goes
/// straight.
bool Engine::expects_search() const {
  const auto steps = static_cast<double>(state_.step - state_.last_search);
  const double moved = std::sqrt(std::bit_cast<double>(check_[displacement2]));
  return is_search_due() || (steps > 1 && moved * (steps + 0.5) / (steps - 1) >= allowed_displacement());
}

void Engine::check() const {
  if (!is_sound_on_device()) bring_home();
  try {
    comm::agree_on_run(comm_, blow_up_);
  } catch (const RunError& error) {
    throw integrate::BlowUp(error.what());
  }
}

StrongestForce Engine::find_strongest_force(std::int64_t atom) {
  bring_home();
  return layout_->forces.find_strongest(atom);
}

void Engine::start_check() {
  // Squares of lengths are not negative, and such doubles compare like the integers of their bits.
  check_ = {std::bit_cast<std::int64_t>(layout_->domain.greatest_displacement2()), !blow_up_.empty(),
            !layout_->forces.pairs().list_holds()};
  check_request_ = comm_.start_all_reduce_max(check_);
}

/// Returns whether cells may miss a pair, or a search is due: the same answer on all ranks. Throws BlowUp where the run
/// has blown up on a rank.
bool Engine::must_search() {
  comm::Communicator::wait_all(std::span(&check_request_, 1));
  if (check_[has_blown_up] != 0) check();
  return needs_search();
}

/// Returns by this step's check whether a search is due.
bool Engine::needs_search() const {
  const double moved2 = std::bit_cast<double>(check_[displacement2]), allowed = allowed_displacement();
  return is_search_due() || allowed <= 0 || !(moved2 < allowed * allowed);
}

void Engine::constrain_start() {
  bring_home();
  comm::agree_on_input(comm_, layout_->motion.constrain_positions());
  place_virtual_sites();
  search();
  project_velocities();
}

void Engine::place_virtual_sites() {
  if (!topology_.has_virtual_sites()) return;
  std::string problem;
  if (const auto slot = layout_->motion.place_virtual_sites(); slot >= 0)
    problem = fmt::format("{}; `tessera minimize` may mend that", describe_undetermined(slot));
  comm::agree_on_input(comm_, problem);
}

std::string Engine::describe_undetermined(std::int32_t slot) const {
  return fmt::format("the virtual site {} has no direction: the atoms that it follows lie in one place or on one line",
                     system_.describe(state_.id[at(slot)]));
}

void Engine::project_velocities() {
  bring_home();
  report(layout_->motion.kick_and_project(0, false));
}

void Engine::generate_velocities(double temperature, std::uint64_t seed) {
  bring_home();
  auto& motion = layout_->motion;
  motion.draw_velocities(temperature, seed);
  project_velocities();
  motion.remove_centre_of_mass_motion();
  // Exactly the temperature asked for, whatever the draw.
  const double kinetic = from_fixed(comm::all_reduce_sum(comm_, motion.kinetic_energy()), energy_unit);
  const double wanted = 0.5 * static_cast<double>(degrees_of_freedom_) * units::boltzmann * temperature;
  motion.scale_velocities(kinetic > 0 ? std::sqrt(wanted / kinetic) : 0);
}

void Engine::advance_velocities(double time) {
  compute_forces(false);
  report(layout_->motion.kick_and_project(time, false));
}

void Engine::measure() {
  compute_forces(true);
  if (state_.velocity_time != integrator_->velocity_time()) report(layout_->motion.move_velocities_back());
  // Forces that would tear a group apart are no error yet, as a minimisation may come before the first step.
  if (topology_.n_constraints() > 0) (void)layout_->motion.add_constraint_virial();
  sum_energies();
}

/// Records what an integrator failed on, which the next check tells to all ranks.
void Engine::report(const integrate::Failure& failure) {
  if (failure.slot < 0 || !blow_up_.empty()) return;
  const auto atom = system_.describe(state_.id[at(failure.slot)]);
  blow_up_ = fmt::format("step {}: {}: the run has blown up; {}", state_.step,
                         failure.speed > 0 ? fmt::format("{} moves at {:.0f} Å/ps", atom, failure.speed)
                                           : fmt::format("the constraints of {} can't be kept", atom),
                         layout_->forces.describe_strongest(failure.slot));
}

/// Moves virtual sites with the atoms that they follow.
void Engine::move_virtual_sites() {
  const auto slot = layout_->motion.place_virtual_sites();
  if (slot >= 0 && blow_up_.empty())
    blow_up_ = fmt::format("step {}: the run has blown up: {}", state_.step, describe_undetermined(slot));
}

/// Records a failure of this rank that concerns no single atom, with the fastest atom as a likely cause.
void Engine::report_blow_up(const std::string& problem) {
  if (problem.empty() || !blow_up_.empty()) return;
  std::int32_t fastest = 0;
  double greatest = -1;
  for (std::int32_t s = 0; s < layout_->domain.n_owned_slots(); ++s) {
    const auto& v = state_.velocity[at(s)];
    const double speed2 =
        norm2(velocity_unit * Vec3{static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)});
    if (!layout_->domain.is_padding(s) && speed2 > greatest) greatest = speed2, fastest = s;
  }
  blow_up_ = fmt::format("step {}: {}: the run has blown up; the fastest atom is {} at {:.0f} Å/ps, {}", state_.step,
                         problem, system_.describe(state_.id[at(fastest)]), std::sqrt(greatest),
                         layout_->forces.describe_strongest(fastest));
}

std::vector<MemoryUse> Engine::memory() const {
  const auto atoms = state_.bytes() + layout_->domain.bytes() + layout_->motion.bytes();
  const auto templates = system_.bytes() + topology_.index_bytes() + pair::PairForces::template_bytes(system_);
  std::vector<MemoryUse> uses = {{memory_owners::atoms, static_cast<std::int64_t>(atoms)},
                                 {memory_owners::templates, templates},
                                 {memory_owners::bonded, static_cast<std::int64_t>(topology_.bytes())}};
  const auto of_forces = layout_->forces.memory();
  uses.insert(uses.end(), of_forces.begin(), of_forces.end());
  return uses;
}

}  // namespace tessera::md
