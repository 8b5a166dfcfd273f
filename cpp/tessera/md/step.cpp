// One step of molecular dynamics, top to bottom: the integrator moves atoms, the forces of its phases are added. A
// force that the run does not have is an empty list. Each line is a phase of the report.
#include <algorithm>

#include "tessera/base/index.h"
#include "tessera/base/phase_timer.h"
#include "tessera/md/engine.h"

namespace tessera::md {

/// Times a phase of this rank's own atoms, in which it waits for nobody.
template <class Function>
void Engine::work(Phase phase, Function&& function) {
  const double before = processor_seconds();
  timers_.time(phase, function);
  work_seconds_ += processor_seconds() - before;
}

void Engine::step(bool with_energies) {
  // Steps that a device has lost are done again.
  for (const auto next = state_.step + 1; state_.step < next;) advance(with_energies && state_.step + 1 == next);
}

/// Does a step, or goes back to where processors know the state.
void Engine::advance(bool with_energies) {
  layout_->motion.begin_step();
  if (layout_->forces.has_device() && !layout_->motion.is_away()) {
    before_device_ = {state_, layout_->plan.cells, layout_->motion.scaling_virial(), n_steps_on_device_, n_searches_};
  }
  if (const auto trial = integrator_->trial_box(layout_->motion)) {
    if (!layout_->motion.bring_home()) return go_back();
    try_box(*trial);
  }
  ++state_.step;
  const auto sums =
      std::max(with_energies ? StepSums::energies : StepSums::none, integrator_->needed_sums(state_.step));
  const bool with_virial = sums != StepSums::none;
  const auto due = with_virial ? all_groups : integrator_->due_groups(state_.step);
  work(Phase::first_half, [&] { report(integrator_->before_forces(layout_->motion)); });
  const auto found = follow_on_device(sums);
  if (found == AfterDrift::by_processors) {
    follow_atoms(sums, due);
    add_forces(check_[needs_list] != 0);
  }
  if (found != AfterDrift::lost)
    work(Phase::second_half, [&] { report(integrator_->after_forces(layout_->motion, with_virial)); });
  if (layout_->motion.is_lost()) return go_back();
  if (sums == StepSums::energies) timers_.time(Phase::energies, [&] { sum_energies(); });
  if (sums == StepSums::virial) timers_.time(Phase::energies, [&] { sum_step(); });
  if (layout_->motion.is_lost()) go_back();
}

/// Lets a device that has moved the atoms compute their forces, unless sums or a search are due that it can't do, which
/// processors do.
Engine::AfterDrift Engine::follow_on_device(StepSums sums) {
  auto& [plan, domain, forces, motion] = *layout_;
  const auto by_processors = [&] { return motion.bring_home() ? AfterDrift::by_processors : AfterDrift::lost; };
  const bool has_sums = sums != StepSums::energies || forces.has_energies_of_device();
  if (!motion.is_away() || !has_sums || !blow_up_.empty()) return by_processors();
  return timers_.time(Phase::device, [&] {
    bool has_begun = !expects_search() && forces.has_pair_list();
    motion.start_check();
    if (has_begun) forces.start_on_device(sums);  // while the check is on its way
    const auto check = motion.finish_check();
    if (!check) return AfterDrift::lost;
    check_ = {check->displacement2, 0, check->n_beyond > 0 || !forces.has_pair_list()};
    const bool is_searched = needs_search();
    if (is_searched && !search_on_device()) return by_processors();
    if (is_searched || check_[needs_list] != 0) {
      if (!forces.make_list_on_device(motion.velocities_on_device())) return by_processors();
      has_begun = false;
    }
    if (!has_begun) forces.start_on_device(sums);
    ++n_steps_on_device_;
    return AfterDrift::done;
  });
}

/// Goes back to where this host knows the atoms, which then stay here until the next search.
void Engine::go_back() {
  auto& [plan, domain, forces, motion] = *layout_;
  const bool has_other_box = !(state_.box == before_device_.state.box);
  static_cast<GlobalState&>(state_) = before_device_.state;
  if (has_other_box) forces.follow_box_on_device();
  take_cells(before_device_.cells);
  motion.set_scaling_virial(before_device_.scaling_virial);
  n_steps_on_device_ = before_device_.n_steps_on_device;
  n_searches_ = before_device_.n_searches;
  if (motion.has_searched_on_device()) {  // the device has slots of its own
    auto kept = forces.keep();
    forces.rebuild();
    forces.put_back(std::move(kept));
  }
  motion.stay_home();
}

/// Makes atoms and forces known here that a device has moved, or does the steps again that it has lost. The state is the
/// same as before, so that this is no change to those who look at it.
void Engine::bring_home() const {
  auto& engine = const_cast<Engine&>(*this);
  for (const auto step = state_.step; layout_->motion.is_away() || layout_->motion.is_lost() || state_.step < step;) {
    if (!layout_->motion.bring_home())
      engine.go_back();
    else if (state_.step < step)
      engine.advance(false);
  }
}

/// Tells whether a device has atoms, and nothing that it did has to be done again.
bool Engine::is_sound_on_device() const {
  auto& motion = const_cast<Engine&>(*this).layout_->motion;
  return motion.is_away() && motion.is_sound();
}

OwnAtoms Engine::atoms() const {
  auto& motion = const_cast<Engine&>(*this).layout_->motion;
  const auto n_atoms = layout_->domain.n_owned_atoms();  // the same wherever they are
  if (motion.is_away() && motion.look()) return motion.seen(n_atoms);
  bring_home();
  const auto n = at(layout_->domain.n_owned_slots());
  return {.n_atoms = n_atoms,
          .id = std::span(state_.id).first(n),
          .position = std::span(state_.position).first(n),
          .reference = std::span(state_.reference).first(n),
          .velocity = std::span(state_.velocity).first(n),
          .force = std::span(layout_->forces.total()).first(3 * n),
          .fields = state_.fields};
}

void Engine::displace(const std::function<void(State&)>& move) {
  bring_home();
  work(Phase::first_half, [&] { move(state_); });
  follow_atoms(StepSums::energies, all_groups);
  add_forces(check_[needs_list] != 0);
  timers_.time(Phase::energies, [&] { sum_energies(); });
}

/// Computes forces and energies in another box.
void Engine::compute_in(const Box& trial) {
  work(Phase::first_half, [&] { layout_->motion.set_box(trial); });
  follow_atoms(StepSums::energies, all_groups);
  add_forces(check_[needs_list] != 0);
  check();
}

/// Fetches halo positions from their owners, and moves all atoms to their cells where a search is due. While the
/// positions are on their way, it adds the forces of the pairs that need none of them.
void Engine::follow_atoms(StepSums sums, GroupSet due) {
  if (topology_.has_virtual_sites()) work(Phase::virtual_sites, [&] { move_virtual_sites(); });
  const bool is_search_likely = expects_search();
  auto& [plan, domain, forces, motion] = *layout_;
  work(Phase::pair_list, [&] { forces.update_owned(); });
  timers_.time(Phase::displacement, [&] { start_check(); });
  timers_.time(Phase::halo_positions, [&] { domain.start_halo_positions(); });
  work(Phase::clear, [&] { forces.clear(sums, due); });
  const auto meanwhile = [&] {
    comm::Communicator::progress(std::span(&check_request_, 1));
    domain.progress_halo_positions();
  };
  if (!is_search_likely) work(Phase::pair, [&] { forces.add_inner_pairs(meanwhile); });  // in vain before a search
  timers_.time(Phase::halo_positions, [&] { domain.finish_halo_positions(); });
  if (timers_.time(Phase::displacement, [&] { return must_search(); })) {
    timers_.time(Phase::search, [&] { search(); });
    work(Phase::clear, [&] { layout_->forces.clear(sums, due); });  // the search may have made them anew
  }
}

/// Adds all forces of the groups that are due and not yet added. All ranks list pairs in the same steps, so that none
/// waits for the lists of others.
void Engine::add_forces(bool make_list) {
  auto& [plan, domain, forces, motion] = *layout_;
  work(Phase::pair_list, [&] { forces.update_pair_list(make_list); });
  if (forces.has_device()) work(Phase::device, [&] { forces.start_device(); });
  work(Phase::bonded, [&] { forces.add_bonded(); });
  if (forces.has_external()) timers_.time(Phase::external, [&] { forces.add_external(); });
  if (forces.has_restraints()) timers_.time(Phase::restraints, [&] { forces.add_restraints(); });
  if (forces.has_device()) work(Phase::device, [&] { forces.finish_device(); });
  work(Phase::pair, [&] { forces.add_pairs(); });
  // Forces on halo atoms travel while the mesh is at work.
  timers_.time(Phase::halo_forces, [&] { forces.start_return(); });
  report_blow_up(forces.add_mesh(timers_));
  work(Phase::sum_threads, [&] { forces.sum_threads_of_owned(); });
  timers_.time(Phase::halo_forces, [&] { forces.finish_return(); });
  if (topology_.has_virtual_sites()) work(Phase::virtual_sites, [&] { forces.spread_virtual_sites(); });
}

void Engine::compute_forces(bool with_energies) {
  bring_home();
  work(Phase::clear, [&] { layout_->forces.clear(with_energies ? StepSums::energies : StepSums::none); });
  add_forces(false);
}

/// Sums what this step's forces left on threads and ranks, or on a device, which may have lost it. Pressure baths learn
/// the virial.
Energies Engine::sum_step() {
  auto& motion = layout_->motion;
  if (!motion.is_away()) check();  // else take_sums() looks
  motion.add_virial_within_groups();
  const auto kinetic = motion.kinetic_energy_of_step();
  motion.take_sums();
  if (motion.is_lost()) return {};
  auto energies = layout_->forces.sum_energies(kinetic, degrees_of_freedom_);
  motion.set_scaling_virial(energies.group_scaling_virial);
  return energies;
}

void Engine::sum_energies() {
  auto energies = sum_step();
  if (layout_->motion.is_lost()) return;
  energies_step_ = state_.step;
  energies.conserved = integrator_->conserved(energies, state_);
  layout_->motion.set_energies(energies);
}

}  // namespace tessera::md
