#include "tessera/app/config/baths.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/app/numbers_text.h"
#include "tessera/base/error.h"
#include "tessera/base/units.h"
#include "tessera/md/constraint/whole_groups.h"

namespace tessera::app {

namespace {

template <class Choice>
std::string_view name_of(Choice choice) {
  return names_of(choice).at(static_cast<std::size_t>(choice));
}

/// Throws InputError where a heat bath is always at 0 K, and where it is so for a time and something divides by its
/// temperature: chains, whose masses are in proportion to it, and the distribution of volumes.
void check_above_zero(const DynamicsConfig& dynamics, const TimeSchedule& temperature, std::string_view key) {
  if (temperature.least() > 0) return;
  if (!(temperature.greatest() > 0))
    throw InputError(
        fmt::format("{} is 0 K, expected more for a heat bath: set it, or dynamics.ensemble = \"nve\"", key));
  if (const auto& bath = md::integrate::thermostat(dynamics.thermostat); !bath.takes_zero)
    throw InputError(
        fmt::format("{} is 0 K for a time, at which {} have no mass: heat with dynamics.thermostat = \"langevin\" or "
                    "\"bussi\", or from 1 K on",
                    key, bath.description));
  if (dynamics.ensemble == Ensemble::npt)
    throw InputError(
        fmt::format("{} is 0 K for a time, at which a pressure bath samples no volumes: heat with dynamics.ensemble = "
                    "\"nvt\", or from 1 K on",
                    key));
}

}  // namespace

md::integrate::BathSettings bath_settings(const DynamicsConfig& dynamics, const model::System& system) {
  const auto* const thermostat = thermostat_of(dynamics);
  const auto* const barostat = barostat_of(dynamics);
  if (barostat != nullptr && !system.is_periodic)
    throw InputError(
        "dynamics.ensemble = \"npt\", but the system has no box whose size could follow a pressure: use \"nvt\"");
  if (thermostat != nullptr) check_above_zero(dynamics, dynamics.temperature, "dynamics.temperature");
  if (barostat != nullptr && !barostat->thermostat.empty() && dynamics.thermostat != barostat->thermostat)
    throw InputError(fmt::format(
        "dynamics.barostat = \"{}\" is propagated with {}, but dynamics.thermostat is \"{}\": set thermostat = \"{}\", or "
        "barostat = \"c-rescale\"",
        barostat->name, md::integrate::thermostat(std::string(barostat->thermostat)).description, dynamics.thermostat,
        barostat->thermostat));
  if (dynamics.surface_tension != 0 && dynamics.edges != Edges::semi_isotropic)
    throw InputError("dynamics.surface_tension is set, which needs dynamics.coupling = \"semi-isotropic\"");
  return {.thermostat = thermostat != nullptr ? dynamics.thermostat : "",
          .barostat = barostat != nullptr ? dynamics.barostat : "",
          .edges = dynamics.edges,
          .heat_baths = {{.temperature = dynamics.temperature, .tau_t = dynamics.tau_t}},
          .chain = dynamics.chain,
          .temperature = dynamics.temperature,
          .pressure = dynamics.pressure,
          .tau_p = dynamics.tau_p,
          .compressibility = dynamics.compressibility,
          .surface_tension = dynamics.surface_tension * units::nanometre,
          .every = dynamics.coupling_every,
          .trials_every = dynamics.monte_carlo_every,
          .seed = static_cast<std::uint64_t>(dynamics.seed)};
}

std::vector<md::integrate::HeatBath> heat_baths(const RunConfig& config, const model::System& system) {
  const auto& dynamics = config.dynamics;
  if (config.baths.empty()) return {{.temperature = dynamics.temperature, .tau_t = dynamics.tau_t}};
  if (dynamics.ensemble == Ensemble::nve)
    throw InputError(
        "[[bath]] stands with dynamics.ensemble = \"nve\", which has no heat bath: use \"nvt\" or \"npt\"");
  if (const auto* barostat = barostat_of(dynamics);
      barostat != nullptr && !barostat->thermostat.empty() && config.baths.size() > 1)
    throw InputError(fmt::format(
        "dynamics.barostat = \"{}\" has one chain on all atoms, and there are several [[bath]]: use one, or "
        "barostat = \"c-rescale\"",
        barostat->name));
  constexpr std::size_t most = 255;
  if (config.baths.size() > most)
    throw InputError(fmt::format("there are {} [[bath]], expected at most {}", config.baths.size(), most));
  struct Part {
    model::AtomSet::Range range;
    std::size_t bath;
  };
  std::vector<md::integrate::HeatBath> baths;
  std::vector<Part> parts;
  for (std::size_t row = 0; row < config.baths.size(); ++row) {
    const auto& one = config.baths[row];
    const auto key = fmt::format("bath.{}.select", row);
    check_above_zero(dynamics, one.temperature, fmt::format("bath.{}.temperature", row));
    baths.push_back({config.selections.find(one.select, key, system.n_atoms()), one.temperature, one.tau_t});
    md::constraint::check_whole_groups(system, dynamics.constraints, baths.back().atoms, key);
    for (const auto& range : baths.back().atoms.ranges()) parts.push_back({range, row});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& p, const Part& q) { return p.range.first < q.range.first; });
  std::int64_t next = 0;  // the first atom without a bath
  for (std::size_t i = 0; i <= parts.size(); ++i) {
    const auto first = i < parts.size() ? parts[i].range.first : system.n_atoms();
    if (first > next)
      throw InputError(
          fmt::format("{} is in none of the {} [[bath]], expected every atom in one: add a bath for the rest",
                      system.describe(next), baths.size()));
    if (i == parts.size()) break;
    if (first < next)
      throw InputError(fmt::format("{} is in bath {} and in bath {}, expected every atom in one",
                                   system.describe(first), std::min(parts[i - 1].bath, parts[i].bath),
                                   std::max(parts[i - 1].bath, parts[i].bath)));
    next = parts[i].range.last + 1;
  }
  return baths;
}

std::string describe(const TimeSchedule& schedule, std::string_view unit) {
  if (schedule.is_constant()) return fmt::format("{} {}", schedule.points().front()[1], unit);
  std::string text;
  for (const auto& [time, value] : schedule.points())
    text += fmt::format("{}{} {} at {} ps", text.empty() ? "" : ", ", value, unit, time);
  return text;
}

const md::integrate::BathEntry* thermostat_of(const DynamicsConfig& dynamics) {
  return dynamics.ensemble == Ensemble::nve ? nullptr : &md::integrate::thermostat(dynamics.thermostat);
}

const md::integrate::BathEntry* barostat_of(const DynamicsConfig& dynamics) {
  return dynamics.ensemble == Ensemble::npt ? &md::integrate::barostat(dynamics.barostat) : nullptr;
}

bool has_noise(const DynamicsConfig& dynamics) {
  const auto draws = [](const auto* bath) { return bath != nullptr && bath->draws_noise; };
  return draws(thermostat_of(dynamics)) || draws(barostat_of(dynamics));
}

std::string describe_baths(const RunConfig& config, const md::integrate::BathSettings& settings) {
  const auto& dynamics = config.dynamics;
  if (dynamics.ensemble == Ensemble::nve) return "ensemble: nve, constant energy and box\n";
  std::string text = config.baths.empty()
                         ? fmt::format("ensemble: {}, {} by {} with {} ps", name_of(dynamics.ensemble),
                                       describe(dynamics.temperature, "K"), dynamics.thermostat, dynamics.tau_t)
                         : fmt::format("ensemble: {}, {} heat baths by {}", name_of(dynamics.ensemble),
                                       config.baths.size(), dynamics.thermostat);
  if (const auto* barostat = barostat_of(dynamics)) {
    text +=
        fmt::format("; {}, {}, by {} ", describe(dynamics.pressure, "bar"), name_of(dynamics.edges), barostat->name);
    text += barostat->tries_boxes ? fmt::format("every {} steps", dynamics.monte_carlo_every)
                                  : fmt::format("with {} ps", dynamics.tau_p);
  }
  text += fmt::format("; every {} steps\n", dynamics.coupling_every);
  for (std::size_t row = 0; row < config.baths.size(); ++row)
    text +=
        fmt::format("bath {}: {} atoms, '{}', {} with {} ps\n", row, grouped(settings.heat_baths[row].atoms.size()),
                    config.baths[row].select, describe(config.baths[row].temperature, "K"), config.baths[row].tau_t);
  return text;
}

std::string note_of_baths(const DynamicsConfig& dynamics) {
  const auto is_weak = [](const auto* bath) { return bath != nullptr && !bath->samples_ensemble; };
  const bool heat = is_weak(thermostat_of(dynamics)), pressure = is_weak(barostat_of(dynamics));
  if (!heat && !pressure) return "";
  return fmt::format("{} = \"{}\" samples no ensemble: fluctuations are too small; use {} for results",
                     heat && pressure ? "dynamics.thermostat and barostat"
                     : heat           ? "dynamics.thermostat"
                                      : "dynamics.barostat",
                     !heat ? dynamics.barostat
                     : !pressure || dynamics.thermostat == dynamics.barostat
                         ? dynamics.thermostat
                         : dynamics.thermostat + "\" and \"" + dynamics.barostat,
                     heat && pressure ? "\"bussi\" and \"c-rescale\""
                     : heat           ? "\"bussi\""
                                      : "\"c-rescale\"");
}

}  // namespace tessera::app
