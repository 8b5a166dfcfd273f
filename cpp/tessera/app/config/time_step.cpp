#include "tessera/app/config/time_step.h"

#include <fmt/format.h>

#include <cmath>

#include "tessera/md/constraint/fastest_vibration.h"

namespace tessera::app {

std::string note_of_time_step(const md::EngineSettings& settings, const model::System& system) {
  constexpr double steps_per_period = 5;  // velocity Verlet is unstable below π, and inaccurate well before
  const auto fastest = md::constraint::find_fastest_vibration(system, settings.constraints);
  if (!fastest || settings.timestep * steps_per_period <= fastest->period) return "";
  const auto mode = md::constraint::constraint_mode_names.at(static_cast<std::size_t>(settings.constraints));
  constexpr double fs = 1000;
  return fmt::format(
      "dynamics.timestep = {} fs is more than a fifth of the fastest period that constraints = \"{}\" leave: {:.1f} "
      "fs, "
      "{}; choose at most {:.1f} fs{}",
      fs * settings.timestep, mode, fs * fastest->period, fastest->what,
      std::floor(10 * fs * fastest->period / steps_per_period) / 10,
      settings.constraints == md::constraint::ConstraintMode::none ? ", or constraints = \"h-bonds\"" : "");
}

}  // namespace tessera::app
