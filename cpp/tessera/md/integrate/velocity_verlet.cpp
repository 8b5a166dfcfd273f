// Velocity Verlet with constraints, the two halves of a step:
//   v(t+½) = v(t) + ½dt·F(t)/m, turned so that the drift keeps the constraints (SETTLE, SHAKE);  x(t+1) = x(t) +
//   dt·v(t+½) v(t+1) = v(t+½) + ½dt·F(t+1)/m, less what would change constrained distances (RATTLE)
// Sources: W. C. Swope et al., J. Chem. Phys. 76, 637 (1982), doi:10.1063/1.442716; H. C. Andersen, J. Comput. Phys.
// 52, 24 (1983), doi:10.1016/0021-9991(83)90014-1. Units: Å, ps, amu, kcal/mol. Within half a step velocities are
// doubles (velocity_); between halves they are the engine's integers, so that a migration or a restart changes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/units.h"
#include "tessera/md/blow_up.h"
#include "tessera/md/engine.h"

namespace tessera::md {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

/// v ← v + F/m·duration, into velocity_.
void Engine::kick(double duration) {
  const double scale = units::acceleration * duration * force_unit;
  constexpr double limit = 1000;  // Å/ps: 2 Å in a 2 fs step, thirty times a hydrogen's thermal speed
  std::vector<std::int32_t> blown(at(threads_.size()), -1);
  threads_.run([&](int thread) {
    const std::int64_t n = domain_.n_owned_slots();
    for (auto s = n * thread / threads_.size(); s < n * (thread + 1) / threads_.size(); ++s) {
      const auto& v = domain_.velocity[at(s)];
      const auto* f = &force_[3 * at(s)];
      const double w = inverse_mass_[at(s)] * scale;
      const Vec3 moved = {v.x * domain::velocity_unit + w * static_cast<double>(f[0]),
                          v.y * domain::velocity_unit + w * static_cast<double>(f[1]),
                          v.z * domain::velocity_unit + w * static_cast<double>(f[2])};
      velocity_[at(s)] = moved;
      if (!(norm2(moved) < limit * limit) && blown[at(thread)] < 0) blown[at(thread)] = static_cast<std::int32_t>(s);
    }
  });
  for (const auto slot : blown)
    if (slot >= 0 && blow_up_.empty())
      blow_up_ = fmt::format("step {}: {} moves at {:.0f} Å/ps: the run has blown up; {}", step_,
                             system_.describe(domain_.id[at(slot)]), norm(velocity_[at(slot)]),
                             find_strongest_force(domain_, topology_.terms(), tables_, pair_, slot));
}

/// Turns velocity_ so that a drift over a time step keeps all constraints (SETTLE, SHAKE).
void Engine::constrain_drift() {
  const double dt = settings_.timestep;
  std::vector<std::int32_t> failed(at(threads_.size()), -1);
  threads_.run([&](int thread) {
    topology_.for_constrained(thread, threads_.size(), [&](const auto& atoms) {
      const auto before = places(atoms, system_.lattice, domain_.position);
      auto free = collect(atoms, [&](std::int32_t slot) { return velocity_[at(slot)]; });
      for (std::size_t k = 0; k < atoms.slots.size(); ++k) free[k] = before[k] + dt * free[k];
      auto after = free;
      if (!atoms.correct_positions(before, after, settings_.constraint_tolerance)) failed[at(thread)] = atoms.slots[0];
      for (std::size_t k = 0; k < atoms.slots.size(); ++k)
        velocity_[at(atoms.slots[k])] += (1 / dt) * (after[k] - free[k]);
    });
  });
  for (const auto slot : failed)
    if (slot >= 0 && blow_up_.empty())
      blow_up_ = fmt::format("step {}: the constraints of {} can't be kept: the run has blown up; {}", step_,
                             system_.describe(domain_.id[at(slot)]),
                             find_strongest_force(domain_, topology_.terms(), tables_, pair_, slot));
}

/// x ← x + v·dt; keeps the velocities.
void Engine::drift() {
  const double dt = settings_.timestep;
  threads_.parallel_for(domain_.n_owned_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s) {
      const Vec3 moved = dt * velocity_[at(s)];
      const Fraction f = {static_cast<std::int32_t>(std::lrint(moved.x * position_scale_[0])),
                          static_cast<std::int32_t>(std::lrint(moved.y * position_scale_[1])),
                          static_cast<std::int32_t>(std::lrint(moved.z * position_scale_[2]))};
      domain_.position[at(s)] = domain_.position[at(s)] + f;
    }
  });
}

void Engine::first_half() {
  kick(0.5 * settings_.timestep);
  if (!blow_up_.empty()) return;  // positions stay as they were; must_search() tells every rank
  constrain_drift();
  if (!blow_up_.empty()) return;
  drift();
  store_velocities();
}

void Engine::second_half(bool with_energies) {
  kick(0.5 * settings_.timestep);
  constrain_velocities(with_energies);
  store_velocities();
  if (settings_.com_removal_every > 0 && step_ % settings_.com_removal_every == 0) remove_centre_of_mass_motion();
}

void Engine::store_velocities() {
  threads_.parallel_for(domain_.n_owned_slots(), [&](std::int64_t begin, std::int64_t end) {
    const auto rounded = [](double v) {
      return static_cast<std::int32_t>(std::lrint(std::clamp(v / domain::velocity_unit, -2147483647.0, 2147483647.0)));
    };
    for (auto s = begin; s < end; ++s) {
      const auto& v = velocity_[at(s)];
      domain_.velocity[at(s)] = {rounded(v.x), rounded(v.y), rounded(v.z)};
    }
  });
}

/// Takes from velocity_ what would change constrained distances (RATTLE). The impulse is half a step of the constraint
/// force, which gives its virial.
void Engine::constrain_velocities(bool with_virial) {
  std::vector<std::int32_t> failed(at(threads_.size()), -1);
  threads_.run([&](int thread) {
    topology_.for_constrained(thread, threads_.size(), [&](const auto& atoms) {
      const auto place = places(atoms, system_.lattice, domain_.position);
      const auto free = collect(atoms, [&](std::int32_t slot) { return velocity_[at(slot)]; });
      auto v = free;
      if (!atoms.correct_velocities(place, v)) failed[at(thread)] = atoms.slots[0];
      for (std::size_t k = 0; k < atoms.slots.size(); ++k) velocity_[at(atoms.slots[k])] = v[k];
      if (with_virial) add_constraint_virial(atoms.slots, place, free, thread_energies_[at(thread)]);
    });
  });
  for (const auto slot : failed)
    if (slot >= 0 && blow_up_.empty())
      blow_up_ = fmt::format("step {}: the constraints of {} are degenerate: the run has blown up", step_,
                             system_.describe(domain_.id[at(slot)]));
}

/// Of the forces that in half a step made velocity_ of `free`.
void Engine::add_constraint_virial(std::span<const std::int32_t> slots, std::span<const Vec3> place,
                                   std::span<const Vec3> free, EnergyVirial& energies) const {
  const double to_force = 2 / (settings_.timestep * units::acceleration);
  for (std::size_t k = 0; k < slots.size(); ++k) {
    const Vec3 f = (to_force / inverse_mass_[at(slots[k])]) * (velocity_[at(slots[k])] - free[k]);
    energies.add_virial(place[k], f);
  }
}

}  // namespace tessera::md
