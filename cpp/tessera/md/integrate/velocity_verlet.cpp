// The two halves of a step around its forces, on all threads. Formulas and sources: half_step.h.
#include <fmt/format.h>

#include "tessera/md/blow_up.h"
#include "tessera/md/engine.h"
#include "tessera/md/integrate/half_step.h"

namespace tessera::md {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

/// Calls half(thread, step, failure) on every thread. Returns the failure to tell of.
template <class Half>
integrate::Failure Engine::run_half_step(double kick, Half&& half) {
  const integrate::HalfStep step = {.edges = system_.lattice.edges(),
                                    .kick = kick,
                                    .timestep = settings_.timestep,
                                    .tolerance = settings_.constraint_tolerance,
                                    .force = force_.data(),
                                    .velocity = domain_.velocity.data(),
                                    .position = domain_.position.data()};
  std::vector<integrate::Failure> failures(at(threads_.size()));
  threads_.run([&](int thread) { half(thread, step, failures[at(thread)]); });
  integrate::Failure first;
  for (const auto& failure : failures) first.offer(failure);
  return first;
}

void Engine::first_half() {
  const auto failure = run_half_step(0.5 * settings_.timestep, [&](int thread, const auto& step, auto& failed) {
    integrate::kick_and_drift(topology_.groups(), thread, threads_.size(), step, failed);
  });
  if (failure.slot < 0) return;
  undo_drift();
  report(failure);  // must_search() tells every rank
}

void Engine::second_half(bool with_energies) {
  project_velocities(0.5 * settings_.timestep, with_energies);
  if (settings_.com_removal_every > 0 && step_ % settings_.com_removal_every == 0) remove_centre_of_mass_motion();
}

/// Takes from the velocities, after a kick, what would change constrained distances; adds the virial of that.
void Engine::project_velocities(double kick, bool with_virial) {
  report(run_half_step(kick, [&](int thread, const auto& step, auto& failed) {
    integrate::kick_and_project(topology_.groups(), thread, threads_.size(), step, failed,
                                with_virial ? &thread_energies_[at(thread)] : nullptr);
  }));
}

/// Of a run that has blown up: atoms back to where their forces are known, within a rounding of their velocities.
void Engine::undo_drift() {
  const double dt = settings_.timestep * domain::velocity_unit;
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    const auto& v = domain_.velocity[at(s)];
    domain_.position[at(s)] = domain_.position[at(s)] - system_.lattice.fraction({dt * v.x, dt * v.y, dt * v.z});
  }
}

void Engine::report(const integrate::Failure& failure) {
  if (failure.slot < 0 || !blow_up_.empty()) return;
  const auto atom = system_.describe(domain_.id[at(failure.slot)]);
  blow_up_ = fmt::format("step {}: {}: the run has blown up; {}", step_,
                         failure.speed > 0 ? fmt::format("{} moves at {:.0f} Å/ps", atom, failure.speed)
                                           : fmt::format("the constraints of {} can't be kept", atom),
                         find_strongest_force(domain_, topology_.terms(), tables_, pair_, failure.slot));
}

}  // namespace tessera::md
