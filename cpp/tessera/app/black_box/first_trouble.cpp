#include "tessera/app/black_box/first_trouble.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tessera/base/index.h"
#include "tessera/base/units.h"

namespace tessera::app {

namespace {

/// The atom of a rank that is most out of order, as ranks tell each other.
struct Suspect {
  double energy = -1;  // kcal/mol
  std::int64_t atom = -1;
  double speed = 0, force = 0;
  std::int64_t is_too_fast = 0;

  bool is_worse_than(const Suspect& other) const {
    return energy > other.energy || (energy == other.energy && atom < other.atom);
  }
};

/// Returns the kinetic energy (kcal/mol) of a mass (amu) at a speed (Å/ps).
double kinetic_energy(double mass, double speed) { return 0.5 * mass * speed * speed / units::acceleration; }

Suspect suspect_of(const md::Engine& engine) {
  constexpr double longest = 0.002;  // ps: with a longer step, forces of equilibrium would be out of order, too
  const double time = std::min(engine.settings().timestep, longest);
  const auto& state = engine.state();
  Suspect worst;
  for (std::int32_t slot = 0; slot < engine.domain().n_owned_slots(); ++slot) {
    if (engine.domain().is_padding(slot) || engine.settings().fixed.contains(state.id[at(slot)])) continue;
    const double mass = engine.domain().molecule_of(slot).mass[at(state.local[at(slot)])];
    if (mass <= 0) continue;  // a virtual site
    const auto& v = state.velocity[at(slot)];
    Suspect one;
    one.atom = state.id[at(slot)];
    one.speed =
        md::velocity_unit * norm({static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)});
    one.force = norm(engine.force(slot));
    const double of_speed = kinetic_energy(mass, one.speed);
    const double of_force = kinetic_energy(mass, units::acceleration * one.force / mass * time);
    one.energy = std::max(of_speed, of_force);
    one.is_too_fast = of_speed > of_force;
    if (one.is_worse_than(worst)) worst = one;
  }
  return worst;
}

}  // namespace

std::string Trouble::describe(const model::System& system) const {
  const auto what = is_too_fast ? fmt::format("moves at {:.0f} Å/ps", speed)
                                : fmt::format("feels a force of {:.3g} kcal/mol/Å", force);
  return fmt::format("step {}: {} {}: the run has blown up; {}", step, system.describe(atom), what,
                     strongest.describe(system));
}

void FirstTrouble::look(Simulation& simulation) {
  if (found_) return;
  constexpr double multiple = 50;
  const std::vector<Suspect> own = {suspect_of(simulation.engine())};
  Suspect worst;
  for (const auto& block : simulation.comm().all_gather(comm::bytes_of(own)))
    for (const auto& one : comm::values_of<Suspect>(block))
      if (one.is_worse_than(worst)) worst = one;
  if (worst.energy <= multiple * units::boltzmann * temperature_) return;
  found_ = Trouble{simulation.current_step(),
                   worst.atom,
                   worst.speed,
                   worst.force,
                   worst.is_too_fast != 0,
                   simulation.find_strongest_force(worst.atom)};
}

}  // namespace tessera::app
