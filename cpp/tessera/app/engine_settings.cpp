#include "tessera/app/engine_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tessera/app/config/baths.h"
#include "tessera/app/config/interactions.h"
#include "tessera/app/config/restraints.h"
#include "tessera/app/config/schema.h"
#include "tessera/app/system/system_file.h"
#include "tessera/base/error.h"
#include "tessera/fft/choice/wisdom.h"
#include "tessera/machine/load/traffic.h"
#include "tessera/md/integrate/integrator.h"
#include "tessera/md/integrate/respa.h"
#include "tessera/md/pme/plan.h"
#include "tessera/model/hydrogen_mass.h"

namespace tessera::app {

namespace {

/// Returns the steps from one action of the slowest forces to the next.
std::int64_t outer_step(const RunConfig& config) {
  const bool has_mesh = config.interactions.electrostatics == Electrostatics::pme;
  return std::max(config.dynamics.direct_every, has_mesh ? config.dynamics.mesh_every : 1);
}

/// Throws InputError where something is due between actions of the slower forces, when velocities lack a part of these.
void check_times(const RunConfig& config) {
  const auto& dynamics = config.dynamics;
  const auto outer = outer_step(config);
  const char* key = outer > dynamics.direct_every ? "mesh_every" : "direct_every";
  if (outer % dynamics.direct_every != 0)
    throw InputError(fmt::format("dynamics.mesh_every is {}, expected a multiple of dynamics.direct_every = {}",
                                 dynamics.mesh_every, dynamics.direct_every));
  const auto check = [&](const char* name, std::int64_t period) {
    if (period % outer != 0)
      throw InputError(fmt::format("{} is {}, expected a multiple of dynamics.{} = {}", name, period, key, outer));
  };
  check("output.energy_every", config.output.energy_every);
  const auto* const thermostat = thermostat_of(dynamics);
  if (thermostat == nullptr) return;
  check("dynamics.coupling_every", dynamics.coupling_every);
  if (const auto* barostat = barostat_of(dynamics); barostat != nullptr && barostat->tries_boxes)
    check("dynamics.monte_carlo_every", dynamics.monte_carlo_every);
  if (!thermostat->integrator.empty())
    throw InputError(fmt::format(
        "dynamics.{} is above 1 with thermostat = \"{}\", which has one time step: use another thermostat, or {} = 1",
        key, thermostat->name, key));
}

/// Sets the integrator that the keys come to. Refuses what they do not allow together.
void set_integrator(md::EngineSettings& settings, const RunConfig& config) {
  const auto& dynamics = config.dynamics;
  const auto& asked = md::integrate::integrator(dynamics.integrator);
  const auto* const thermostat = thermostat_of(dynamics);
  const auto outer = outer_step(config);
  if (outer > 1 && asked.several_times.empty())
    throw InputError(
        fmt::format("dynamics.integrator = \"{}\" has one time step, and mesh_every or direct_every is "
                    "above 1: set integrator = \"velocity-verlet\"",
                    asked.name));
  if (thermostat != nullptr && !thermostat->takes_half_steps && asked.has_half_steps)
    throw InputError(fmt::format(
        "dynamics.thermostat = \"{}\" needs velocities at whole steps, and dynamics.integrator = \"{}\" has them at "
        "half steps: set integrator = \"velocity-verlet\", or thermostat = \"bussi\"",
        thermostat->name, asked.name));
  if (outer > 1) {
    check_times(config);
    settings.direct_every = dynamics.direct_every;
    settings.mesh_every = outer;
    settings.force_groups = md::integrate::respa_groups(settings.direct_every, outer);
  }
  const bool has_own = thermostat != nullptr && !thermostat->integrator.empty();
  settings.integrator = has_own ? thermostat->integrator : outer > 1 ? asked.several_times : asked.name;
}

/// Throws InputError where a trial of another box would not fit the buffer.
void check_trials(const RunConfig& config, std::string_view barostat) {
  constexpr double least = 0.2;  // Å
  if (config.parallel.buffer < least)
    throw InputError(
        fmt::format("parallel.buffer is {} Å, expected at least {} Å with dynamics.barostat = \"{}\", whose trials "
                    "change the box without a search",
                    config.parallel.buffer, least, barostat));
}

/// Returns about how many steps a list of pairs lasts. Processors make it, and a GPU takes little time for longer ones:
/// of 4, 8, 12, 16 and 24 steps, 12 are best on 16 cores with an H200, or nearly (docs/design/gpu.md#in-a-step).
double list_steps_of(DeviceChoice device) { return device == DeviceChoice::gpu ? 12 : 4; }

}  // namespace

model::System read_run_system(const SystemSource& source, const RunConfig& config) {
  auto system = read_system(source);
  if (config.dynamics.hydrogen_mass > 0) model::repartition_hydrogen_mass(system, config.dynamics.hydrogen_mass);
  return system;
}

md::EngineSettings plan_settings(const RunConfig& config, const model::System& system) {
  md::EngineSettings settings;
  auto& pair = settings.pair;
  const auto lj = resolve_lj(config, system);
  pair.cutoff = lj.cutoff;
  pair.switch_distance = lj.switch_distance;
  pair.lj = lj.modifier;
  settings.lj_tail = lj.has_tail;
  pair.electrostatics = config.interactions.electrostatics;
  pair.coulomb_switch = config.interactions.coulomb_switch;
  pair.coulomb_constant = system.force_field.coulomb_constant;
  settings.buffer = config.parallel.buffer;
  settings.list_steps = config.parallel.list_steps.value_or(list_steps_of(config.parallel.device));
  settings.search_every = config.parallel.pair_search_every;
  settings.precision = config.parallel.precision;
  settings.constraints = config.dynamics.constraints;
  settings.constraint_tolerance = config.dynamics.constraint_tolerance;
  settings.timestep = config.dynamics.timestep;
  settings.com_removal_every = config.dynamics.com_removal_every;
  settings.baths = bath_settings(config.dynamics, system);
  settings.baths.heat_baths = heat_baths(config, system);
  if (const auto* barostat = barostat_of(config.dynamics); barostat != nullptr && barostat->tries_boxes)
    check_trials(config, barostat->name);
  settings.restraints = restraint_settings(config, system);
  settings.fixed = fixed_atoms(config, system);
  set_integrator(settings, config);
  if (pair.electrostatics == md::pair::Electrostatics::pme) {
    const auto edges = system.box.edges();
    settings.pme_order = static_cast<int>(config.pme.order);
    pair.direct_cutoff = std::max(config.pme.cutoff, pair.cutoff);
    pair.alpha =
        config.pme.alpha > 0 ? config.pme.alpha : md::pme::alpha_from_tolerance(pair.range(), config.pme.tolerance);
    if (pair.lj == LjModifier::pme)
      pair.lj_alpha = config.pme.lj_alpha > 0 ? config.pme.lj_alpha
                                              : md::pme::lj_alpha_from_tolerance(pair.cutoff, config.pme.lj_tolerance);
    settings.fft_scheme = config.fft.scheme;
    settings.fft_wisdom_file = fft::default_wisdom_file();
    settings.fft_exchange = config.fft.exchange;
    if (config.pme.grid.empty())
      settings.pme_grid = md::pme::grid_from_spacing(edges, config.pme.spacing);
    else
      for (std::size_t d = 0; d < 3; ++d) settings.pme_grid[d] = config.pme.grid[d];
  }
  settings.is_replicated = config.parallel.mode == DataMode::replicated;
  constexpr std::int64_t most_replicated = 150'000'000;  // with what pads cells their bytes fit an int
  if (settings.is_replicated && system.n_atoms() > most_replicated)
    throw InputError(fmt::format(
        "parallel.mode is \"replicated\", by which each rank has all atoms, at most {}; this system has {}: "
        "take parallel.mode = \"cells\"",
        most_replicated, system.n_atoms()));
  settings.reorder = config.parallel.reorder;
  settings.machine_file = config.parallel.machine;
  if (const char* file = std::getenv("TESSERA_MACHINE"); file && settings.machine_file.empty())
    settings.machine_file = file;
  if (const char* seconds = std::getenv("TESSERA_TRAFFIC"); seconds && *seconds)
    settings.seconds_for_traffic = machine::seconds_for_traffic(seconds);
  (void)md::plan_cells(md::summary_of(system), settings,
                       system.box);  // a box that is too small is told of before anything else
  return settings;
}

RunConfig in_effect(RunConfig config, const md::EngineSettings& settings) {
  const auto& pair = settings.pair;
  auto& n = config.interactions;
  n.cutoff = pair.cutoff;
  n.switch_distance = pair.switch_distance;
  n.lj = pair.lj;
  n.lj_tail = settings.lj_tail;
  if (pair.electrostatics == Electrostatics::pme) {
    config.pme.cutoff = pair.range();
    config.pme.alpha = pair.alpha;
    config.pme.lj_alpha = pair.lj_alpha;
    config.pme.grid.assign(settings.pme_grid.begin(), settings.pme_grid.end());
  }
  for (const auto& section : run_schema().sections)
    for (std::size_t row = 0; row < section.n_rows(config); ++row)
      for (const auto& key : section.keys) {
        if (!key.is_path) continue;
        const auto path = std::get<std::string>(key.load(config, row));
        if (!path.empty()) key.store(config, std::filesystem::absolute(path).lexically_normal().string(), row);
      }
  return config;
}

}  // namespace tessera::app
