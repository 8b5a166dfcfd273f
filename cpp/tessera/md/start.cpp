// How a run starts: constraints put right, velocities drawn; and the sums over all atoms that start and run share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/base/units.h"
#include "tessera/md/engine.h"

namespace tessera::md {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

double total_mass(const model::System& system) {
  double sum = 0;
  for (const auto& run : system.instances())
    for (const double m : system.templates[at(run.molecule)].mass) sum += m * static_cast<double>(run.count);
  return sum;
}

domain::Velocity rounded(const Vec3& v) {
  const auto component = [](double value) {
    return static_cast<std::int32_t>(std::lrint(std::clamp(value / domain::velocity_unit, -2147483647., 2147483647.)));
  };
  return {component(v.x), component(v.y), component(v.z)};
}

Vec3 exact(const domain::Velocity& v) {
  return {v.x * domain::velocity_unit, v.y * domain::velocity_unit, v.z * domain::velocity_unit};
}

}  // namespace

void Engine::constrain_start() {
  // The corrections of a drift of no length: positions move to the constraints along their present bonds.
  std::string problem;
  topology_.for_constrained([&](const auto& atoms) {
    const auto before = places(atoms, system_.lattice, domain_.position);
    auto after = before;
    if (!atoms.correct_positions(before, after, settings_.constraint_tolerance) && problem.empty())
      problem = fmt::format("{} {} to be constrained; minimise the structure first",
                            system_.describe(domain_.id[at(atoms.slots[0])]), atoms.too_far);
    for (std::size_t k = 0; k < atoms.slots.size(); ++k) {
      auto& position = domain_.position[at(atoms.slots[k])];
      position = position + system_.lattice.fraction(after[k] - before[k]);
    }
  });
  comm::agree_on_input(comm_, problem);
  search();
  project_velocities(0, false);
}

void Engine::generate_velocities(double temperature, std::uint64_t seed) {
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (domain_.is_padding(s)) continue;
    const auto normal = random_normals(seed, RandomStream::velocity, static_cast<std::uint64_t>(domain_.id[at(s)]),
                                       static_cast<std::uint64_t>(step_));
    const double sigma = std::sqrt(units::boltzmann * temperature * units::acceleration * inverse_mass_[at(s)]);
    domain_.velocity[at(s)] = rounded({sigma * normal[0], sigma * normal[1], sigma * normal[2]});
  }
  project_velocities(0, false);
  remove_centre_of_mass_motion();
  // Exactly the temperature asked for, whatever the draw.
  const double kinetic = from_fixed(comm::all_reduce_sum(comm_, kinetic_energy()), energy_unit);
  const double wanted = 0.5 * static_cast<double>(degrees_of_freedom_) * units::boltzmann * temperature;
  const double scale = kinetic > 0 ? std::sqrt(wanted / kinetic) : 0;
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s)
    domain_.velocity[at(s)] = rounded(scale * exact(domain_.velocity[at(s)]));
}

void Engine::measure() {
  compute_forces(true);
  add_start_constraint_virial();
  sum_energies();
}

/// The constraint forces of a state are those that would bend the first half step.
void Engine::add_start_constraint_virial() {
  if (topology_.n_constraints() == 0) return;
  const double dt = settings_.timestep;
  topology_.for_constrained([&](const auto& atoms) {
    const auto before = places(atoms, system_.lattice, domain_.position);
    auto free = collect(atoms, [&](std::int32_t slot) {
      return exact(domain_.velocity[at(slot)]) +
             (0.5 * dt * units::acceleration * inverse_mass_[at(slot)]) * force(slot);
    });
    for (std::size_t k = 0; k < atoms.slots.size(); ++k) free[k] = before[k] + dt * free[k];
    auto after = free;
    if (!atoms.correct_positions(before, after, settings_.constraint_tolerance)) report({atoms.slots[0]});
    for (std::size_t k = 0; k < atoms.slots.size(); ++k) {
      const double stiffness = 2 / (dt * dt * units::acceleration * inverse_mass_[at(atoms.slots[k])]);
      thread_energies_[0].add_virial(before[k], stiffness * (after[k] - free[k]));
    }
  });
  comm::agree_on_run(comm_, blow_up_);
}

void Engine::remove_centre_of_mass_motion() {
  constexpr double momentum_unit = 1.0 / 1048576.0;  // amu Å/ps
  std::array<std::int64_t, 3> momentum{};
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (domain_.is_padding(s)) continue;
    const auto& v = domain_.velocity[at(s)];
    const double mass = domain::velocity_unit / inverse_mass_[at(s)];
    add_fixed(momentum[0], to_fixed(mass * v.x, momentum_unit));
    add_fixed(momentum[1], to_fixed(mass * v.y, momentum_unit));
    add_fixed(momentum[2], to_fixed(mass * v.z, momentum_unit));
  }
  comm_.all_reduce_sum(momentum);
  const double scale = momentum_unit / (total_mass(system_) * domain::velocity_unit);
  const auto shift = [&](std::int64_t p) {
    return static_cast<std::int32_t>(std::lrint(static_cast<double>(p) * scale));
  };
  const domain::Velocity mean = {shift(momentum[0]), shift(momentum[1]), shift(momentum[2])};
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (domain_.is_padding(s)) continue;
    auto& v = domain_.velocity[at(s)];
    v = {v.x - mean.x, v.y - mean.y, v.z - mean.z};
  }
}

/// Of this rank's atoms, in energy units.
std::int64_t Engine::kinetic_energy() {
  std::int64_t sum = 0;
  constexpr double scale = 0.5 * domain::velocity_unit * domain::velocity_unit / units::acceleration;
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (domain_.is_padding(s)) continue;
    const auto& v = domain_.velocity[at(s)];
    const Vec3 w = {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
    add_fixed(sum, to_fixed(scale * norm2(w) / inverse_mass_[at(s)], energy_unit));
  }
  return sum;
}

}  // namespace tessera::md
