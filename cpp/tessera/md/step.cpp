// One step of molecular dynamics, top to bottom: the integrator moves atoms, the forces of its phases are added. A
// force that the run does not have is an empty list. Each line is a phase of the report.
#include <algorithm>

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
  if (const auto trial = integrator_->trial_box(layout_->motion)) try_box(*trial);
  ++state_.step;
  const auto sums =
      std::max(with_energies ? StepSums::energies : StepSums::none, integrator_->needed_sums(state_.step));
  const bool with_virial = sums != StepSums::none;
  const auto due = with_virial ? all_groups : integrator_->due_groups(state_.step);
  work(Phase::first_half, [&] { report(integrator_->before_forces(layout_->motion)); });
  follow_atoms(sums, due);
  add_forces(check_[needs_list] != 0);
  work(Phase::second_half, [&] { report(integrator_->after_forces(layout_->motion, with_virial)); });
  if (sums == StepSums::energies) timers_.time(Phase::energies, [&] { sum_energies(); });
  if (sums == StepSums::virial) timers_.time(Phase::energies, [&] { sum_step(); });
}

void Engine::displace(const std::function<void(State&)>& move) {
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
  work(Phase::clear, [&] { layout_->forces.clear(with_energies ? StepSums::energies : StepSums::none); });
  add_forces(false);
}

/// Sums what this step's forces left on threads and ranks. Pressure baths learn the virial.
Energies Engine::sum_step() {
  check();
  auto& motion = layout_->motion;
  motion.add_virial_within_groups();
  auto energies = layout_->forces.sum_energies(motion.kinetic_energy_of_step(), degrees_of_freedom_);
  motion.set_scaling_virial(energies.group_scaling_virial);
  return energies;
}

void Engine::sum_energies() {
  auto energies = sum_step();
  energies_step_ = state_.step;
  energies.conserved = integrator_->conserved(energies, state_);
  layout_->motion.set_energies(energies);
}

}  // namespace tessera::md
