#include "tessera/app/energy.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/app/config/interactions.h"
#include "tessera/app/config/read_config.h"
#include "tessera/app/config/removed_keys.h"
#include "tessera/app/config/schema.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/gather.h"
#include "tessera/app/start/coordinates.h"
#include "tessera/app/system/system_file.h"
#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/comm/job.h"

namespace tessera::app {

namespace {

std::string describe(const md::Clashes& clashes, const model::System& system) {
  std::string text;
  if (clashes.count > 0) {
    for (const auto& [distance, id, other] : clashes.nearest)
      text += fmt::format("{}{} and {} {:.3f} Å apart", text.empty() ? "" : "; ", system.describe(id),
                          system.describe(other), distance);
    const auto unnamed = clashes.count - std::ssize(clashes.nearest);
    text = fmt::format("clashes: {}{}; the force of such a pair is given as {:.0f} kcal/mol/Å\n", text,
                       unnamed > 0 ? fmt::format("; and {} pairs more", unnamed) : "", force_limit);
  }
  if (clashes.is_energy_limited)
    text += fmt::format(
        "lower bounds: a pair counts with an energy of at most {:.3g} kcal/mol, so the energies of "
        "clashing atoms and the total are at least those above\n",
        md::energy_limit);
  return text;
}

nlohmann::json to_json(const md::Clashes& clashes) {
  nlohmann::json nearest = nlohmann::json::array();
  for (const auto& [distance, id, other] : clashes.nearest)
    nearest.push_back({{"atoms", {id, other}}, {"distance", distance}});
  return {{"pairs", clashes.count}, {"nearest", nearest}, {"energies_are_lower_bounds", clashes.is_energy_limited}};
}

nlohmann::json to_json(const RunConfig& config, const md::Engine& engine, const md::Clashes& clashes) {
  const auto& energies = engine.energies();
  nlohmann::json terms = nlohmann::json::object();
  for (std::size_t t = 0; t < md::n_terms; ++t) terms[std::string(md::term_names[t])] = energies.term[t];
  const auto& settings = engine.settings();
  nlohmann::json result = {{"atoms", engine.system().n_atoms()},
                           {"terms", terms},
                           {"total", energies.potential()},
                           {"virial", energies.virial},
                           {"pressure_bar", nullptr},
                           {"kinetic", energies.kinetic},
                           {"interactions", to_json(in_effect(config, settings))["interactions"]},
                           {"note", note_of_source(config, engine.system())},
                           {"clashes", to_json(clashes)},
                           {"coulomb_constant", settings.pair.coulomb_constant},
                           {"pair_scheme", md::pair::scheme_name(settings.precision)}};
  if (engine.system().is_periodic) result["pressure_bar"] = energies.pressure;
  if (settings.pair.electrostatics == md::pair::Electrostatics::pme)
    result["pme"] = {{"cutoff", settings.pair.range()},
                     {"alpha", settings.pair.alpha},
                     {"grid", settings.pme_grid},
                     {"order", settings.pme_order}};
  return result;
}

std::string to_text(const RunConfig& config, const md::Engine& engine, const md::Clashes& clashes) {
  const auto& energies = engine.energies();
  std::string text = describe_interactions(config, engine.system(), engine.settings());
  const auto note = note_of_source(config, engine.system());
  if (!note.empty()) text += "note: " + note + "\n";
  text += fmt::format("\n{:<22}{:>20}\n", "term", "kcal/mol");
  for (std::size_t t = 0; t < md::n_terms; ++t)
    text += fmt::format("{:<22}{:>20.4f}\n", md::term_names[t], energies.term[t]);
  text += fmt::format("{:<22}{:>20.4f}\n\n", "total", energies.potential());
  const auto& w = energies.virial;
  text += fmt::format("virial, kcal/mol: xx {:.3f}  yy {:.3f}  zz {:.3f}  xy {:.3f}  xz {:.3f}  yz {:.3f}\n", w[0],
                      w[1], w[2], w[3], w[4], w[5]);
  if (engine.system().is_periodic) text += fmt::format("pressure: {:.2f} bar (no motion)\n", energies.pressure);
  return text + describe(clashes, engine.system());
}

}  // namespace

std::string compute_energy(const EnergyRequest& request, const comm::Communicator& comm) {
  // All terms of the configuration as it stands: nothing is constrained unless asked for.
  auto overrides = request.overrides;
  overrides.insert(overrides.begin(), "dynamics.constraints=\"none\"");
  std::string problem;
  RunConfig config;
  model::System system;
  md::EngineSettings settings;
  CoordinateBlock block;
  try {
    config = config_of_system(request.system, overrides);
    system = read_system(request.system);
    settings = plan_settings(config, system);
    block = read_coordinates(request.system, comm.rank(), comm.size());
    if (comm.is_root() && !request.forces.empty()) check_place_of_file(request.forces);
  } catch (const InputError& error) {
    problem = error.what();
  }
  comm::agree_on_input(comm, problem);
  if (comm.is_root())
    for (const auto& note : notes_of_removed(config)) comm::print_note("tessera-md", note);
  for (auto& v : block.velocity) v = {};

  ThreadPool threads(request.threads > 0 ? request.threads : static_cast<int>(config.parallel.threads));
  md::Engine engine(system, settings, md::plan_for_ranks(system, settings, system.box, comm, threads), comm, threads);
  check_every_atom_once(comm, block, system, request.system);
  engine.set_state(make_start(system, block));
  // As a move of no length, which puts virtual sites in their places.
  engine.displace([](md::State&) {});
  if (!request.forces.empty()) write_vectors(request.forces, engine, comm, Quantity::force);
  const auto clashes = engine.find_clashes();
  return request.json ? json_text(to_json(config, engine, clashes), 2) + "\n" : to_text(config, engine, clashes);
}

}  // namespace tessera::app
