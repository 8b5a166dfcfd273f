// Finds the forces of constraints in a state, without the step that led to it. Devices do, too.
#pragma once

#include <array>
#include <span>

#include "tessera/base/fixed_point.h"
#include "tessera/base/index.h"
#include "tessera/base/units.h"
#include "tessera/md/constraint/group_list.h"
#include "tessera/md/integrate/half_step.h"

namespace tessera::md::integrate {

/// The forces of constraints on the atoms of a group (kcal/mol/Å), which are where they are found relative to its first
/// atom (Å).
template <std::size_t most>
struct ConstraintForces {
  std::array<Vec3, most> place, force;
  bool is_found = false;
};

/// Finds the forces on a group of up to `most` atoms that keep its distances in a step of step.timestep from this state,
/// after the other forces have acted for step.kick. `correct(kind, before, after, tolerance)` corrects positions.
template <std::size_t most, class Correct>
constexpr ConstraintForces<most> constraint_forces(const constraint::GroupKind& kind, const std::int32_t* slots,
                                                   const HalfStep& step, const Correct& correct) {
  const auto n = at(kind.group.n_atoms);
  ConstraintForces<most> found;
  std::array<Vec3, most> free;
  for (std::size_t k = 0; k < n; ++k) {
    const auto slot = slots[k];
    const auto& v = step.velocity[slot];
    const auto* f = step.force + 3 * std::ptrdiff_t{slot};
    found.place[k] = step.to_length * (step.position[slot] - step.position[slots[0]]).units();
    const Vec3 velocity = {v.x * velocity_unit, v.y * velocity_unit, v.z * velocity_unit};
    const Vec3 force = {from_fixed(f[0], force_unit), from_fixed(f[1], force_unit), from_fixed(f[2], force_unit)};
    const double by_force = step.kick * units::acceleration * kind.group.inverse_mass[k];
    free[k] = found.place[k] + step.timestep * (velocity + by_force * force);
  }
  auto after = free;
  found.is_found = correct(kind, found.place, after, step.tolerance);
  for (std::size_t k = 0; k < n; ++k) {
    const double stiffness = 1 / (step.kick * step.timestep * units::acceleration * kind.group.inverse_mass[k]);
    found.force[k] = stiffness * (after[k] - free[k]);
  }
  return found;
}

/// Adds the virial of these forces for share `share` of `n_shares` of each list, and reports a group for which none were
/// found.
void add_constraint_virial(std::span<const constraint::GroupList> lists, int share, int n_shares, const HalfStep& step,
                           Failure& failure, EnergyVirial& energies);

}  // namespace tessera::md::integrate
