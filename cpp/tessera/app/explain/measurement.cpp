#include "tessera/app/explain/measurement.h"

#include <chrono>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <vector>

#include "tessera/app/config/read_config.h"
#include "tessera/app/config/schema.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/simulation.h"
#include "tessera/app/start/coordinates.h"
#include "tessera/app/start/start.h"
#include "tessera/app/system/cut_out.h"
#include "tessera/app/system/references.h"
#include "tessera/base/error.h"
#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"

namespace tessera::app {

namespace {

using nlohmann::json;

/// Moves atoms by a few steps of a minimisation, as a stage of that kind will. Throws InputError and RunError.
void relax(CoordinateBlock& block, Simulation& simulation) {
  simulation.start_to_minimize(block);
  (void)simulation.minimize({.max_force = 1000, .max_steps = 100});
  std::vector<Fraction> places(block.id.size());  // by id
  for (const auto& atom : simulation.engine().snapshot().atoms)
    places[static_cast<std::size_t>(atom.id)] = atom.position + atom.displacement;
  for (std::size_t i = 0; i < places.size(); ++i) block.fraction[i] = places[static_cast<std::size_t>(block.id[i])];
}

}  // namespace

std::string settings_of_rate(const RunConfig& config, const md::EngineSettings& settings) {
  auto all = to_json(in_effect(config, settings));
  all.erase("output");
  all.erase("minimize");
  const auto erase = [](json& keys, std::initializer_list<const char*> names) {
    for (const auto* name : names) keys.erase(name);
  };
  erase(all.at("dynamics"), {"steps", "temperature", "velocities", "seed", "tau_t", "pressure", "tau_p",
                             "compressibility", "surface_tension"});
  for (auto& bath : all.at("bath")) erase(bath, {"temperature", "tau_t"});
  for (auto& restraint : all.at("restraint")) erase(restraint, {"k", "target", "flat", "reference"});
  return json_text(all);
}

Measurement measure_step(const TrialLength& length, int threads, const RunConfig& config, const model::System& system,
                         const md::EngineSettings& settings, bool is_below_others) {
  using Clock = std::chrono::steady_clock;
  const auto comm = comm::Communicator::world();
  ThreadPool pool(threads);
  const auto measure = [&](const RunConfig& its_config, const model::System& its_system,
                           const md::EngineSettings& its_settings, CoordinateBlock block) -> Measurement {
    check_every_atom_once(comm, block, its_system, its_config.input.system);
    const auto try_steps = [&](bool after_relaxing) -> Measurement {
      Simulation simulation(its_system, config_of_trial(its_config), its_settings, comm, pool);
      try {
        if (after_relaxing) relax(block, simulation);
        const auto time = time_steps(simulation, block, length);
        return {MeasuredStep{time, its_system.n_atoms(), its_settings.pme_grid, threads}, time.start_seconds};
      } catch (const InputError& error) {
        if (!is_below_others) throw;
        return {.problem = error.what()};
      } catch (const RunError& error) {
        if (!is_below_others) throw;
        return {.problem = error.what()};
      }
    };
    auto found = try_steps(false);
    return found.step ? found : try_steps(true);
  };
  constexpr std::int64_t large = 2'000'000, wanted = 200'000;
  // Restraints and selections name atoms by ids, which are others in the part.
  const bool names_atoms = !config.restraints.empty() || !selections_of(config).empty() || !config.input.start.empty();
  if (system.n_atoms() > large && !names_atoms)
    if (const auto part = cut_out(config.input.system, system, wanted)) {
      auto its_config = config;
      if (!config.pme.grid.empty()) {  // meant for all of the box
        its_config.pme.grid.clear();
        its_config.pme.spacing = system.box.a().x / static_cast<double>(config.pme.grid[0]);
      }
      auto found = measure(its_config, part->system, plan_settings(its_config, part->system), part->block);
      found.start_seconds = 0;
      return found;
    }
  const auto begin = Clock::now();
  auto start = read_start(config.input.system, config, system, comm);
  add_references(start.block, config, settings, system);
  const std::chrono::duration<double> reading = Clock::now() - begin;
  auto found = measure(config, system, settings, start.block);
  if (found.step) found.start_seconds += reading.count();
  return found;
}

}  // namespace tessera::app
