#include "tessera/app/config/time_step.h"

#include <fmt/format.h>

#include <cmath>

#include "tessera/md/constraint/fastest_vibration.h"
#include "tessera/md/constraint/groups.h"
#include "tessera/model/hydrogen_mass.h"

namespace tessera::app {

namespace {

constexpr double fs = 1000;  // in a ps

/// Returns a warning of hydrogens, outside of rigid waters, that are too light for a step of more than 2.5 fs. Where
/// their bonds are rigid, no vibration is faster than those of heavy atoms, and yet their turning is not resolved.
std::string note_of_light_hydrogens(const md::EngineSettings& settings, const model::System& system) {
  constexpr double longest = 2.5, light = 2.0;  // fs, amu
  if (fs * settings.timestep <= longest) return "";
  const auto constraints = md::constraint::make_constraints(system, settings.constraints);
  for (std::size_t kind = 0; kind < system.templates.size(); ++kind) {
    const auto& molecule = system.templates[kind];
    const auto n = static_cast<std::size_t>(molecule.n_atoms());
    for (std::size_t atom = constraints[kind].is_rigid_water ? 3 : 0; atom < n; ++atom)
      if (model::is_hydrogen(molecule, static_cast<std::int32_t>(atom)) && molecule.mass[atom] > 0 &&
          molecule.mass[atom] < light)
        return fmt::format(
            "dynamics.timestep = {} fs is more than {} fs, and hydrogens such as {} of {} weigh {} amu: set "
            "dynamics.hydrogen_mass = 3, or choose at most {} fs",
            fs * settings.timestep, longest, molecule.atom_name[atom],
            molecule.residue_name[static_cast<std::size_t>(molecule.residue[atom])], molecule.mass[atom], longest);
  }
  return "";
}

}  // namespace

std::string note_of_time_step(const md::EngineSettings& settings, const model::System& system) {
  constexpr double steps_per_period = 5;  // velocity Verlet is unstable below π, and inaccurate well before
  const auto fastest = md::constraint::find_fastest_vibration(system, settings.constraints);
  if (!fastest || settings.timestep * steps_per_period <= fastest->period)
    return note_of_light_hydrogens(settings, system);
  const auto mode = md::constraint::constraint_mode_names.at(static_cast<std::size_t>(settings.constraints));
  return fmt::format(
      "dynamics.timestep = {} fs is more than a fifth of the fastest period that constraints = \"{}\" leave: {:.1f} "
      "fs, "
      "{}; choose at most {:.1f} fs{}",
      fs * settings.timestep, mode, fs * fastest->period, fastest->what,
      std::floor(10 * fs * fastest->period / steps_per_period) / 10,
      settings.constraints == md::constraint::ConstraintMode::none ? ", or constraints = \"h-bonds\"" : "");
}

}  // namespace tessera::app
