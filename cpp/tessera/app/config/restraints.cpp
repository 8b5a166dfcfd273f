#include "tessera/app/config/restraints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numbers>

#include "tessera/app/config/schema.h"
#include "tessera/app/numbers_text.h"
#include "tessera/base/error.h"
#include "tessera/md/constraint/whole_groups.h"

namespace tessera::app {

namespace {

using md::restraint::RestraintSettings;

constexpr double degree = std::numbers::pi / 180;

std::string_view name_of(RestraintKind kind) {
  return md::restraint::restraint_kind_names.at(static_cast<std::size_t>(kind));
}

std::array<double, 3> mask_of(RestraintAxes axes) {
  const auto name = md::restraint::restraint_axes_names.at(static_cast<std::size_t>(axes));
  const auto held = [&](char axis) { return name.find(axis) == std::string_view::npos ? 0.0 : 1.0; };
  return {held('x'), held('y'), held('z')};
}

std::string key_of(std::size_t row, const char* name) { return fmt::format("restraint.{}.{}", row, name); }

void refuse_keys_of_others(const RestraintConfig& config, std::size_t row) {
  const RestraintConfig unset;
  const auto refuse = [&](const char* name, bool is_set) {
    if (is_set)
      throw InputError(fmt::format("{} is set, which kind = \"{}\" does not have: leave it out", key_of(row, name),
                                   name_of(config.kind)));
  };
  if (config.kind == RestraintKind::position) {
    refuse("groups", !config.groups.empty());
    refuse("target", config.target != unset.target);
  } else if (config.kind == RestraintKind::rmsd) {
    refuse("groups", !config.groups.empty());
    refuse("axes", config.axes != unset.axes);
  } else {
    refuse("select", !config.select.empty());
    refuse("reference", !config.reference.empty());
    refuse("axes", config.axes != unset.axes);
  }
}

RestraintSettings position_settings(const RestraintConfig& config, std::size_t row, const Selections& selections,
                                    const model::System& system) {
  if (config.select.empty())
    throw InputError(
        fmt::format("{} is missing: write which atoms are held, for example select = \"protein and not name H*\"",
                    key_of(row, "select")));
  RestraintSettings settings{.kind = config.kind, .k = config.k, .flat = config.flat};
  settings.atoms = selections.find(config.select, key_of(row, "select"), system.n_atoms());
  settings.reference = config.reference.empty() ? "reference" : fmt::format("reference.{}", row);
  settings.axes = mask_of(config.axes);
  if (config.kind != RestraintKind::rmsd) return settings;
  settings.target = config.target;
  for (const auto& point : config.target.points())
    if (point[1] < 0)
      throw InputError(
          fmt::format("{} is {}, expected 0 or more with kind = \"rmsd\"", key_of(row, "target"), point[1]));
  constexpr std::int64_t fewest = 3;
  if (settings.atoms.size() < fewest)
    throw InputError(fmt::format("{} selects {} atoms, expected at least {}, which a superposition needs",
                                 key_of(row, "select"), settings.atoms.size(), fewest));
  return settings;
}

RestraintSettings group_settings(const RestraintConfig& config, std::size_t row, const Selections& selections,
                                 const model::System& system) {
  const auto n = static_cast<std::size_t>(config.kind) + 1;
  if (config.groups.size() != n)
    throw InputError(fmt::format("{} holds {} selections, expected {} with kind = \"{}\"", key_of(row, "groups"),
                                 config.groups.size(), n, name_of(config.kind)));
  const double unit = config.kind == RestraintKind::distance ? 1 : degree;
  const double least = config.kind == RestraintKind::dihedral ? -360 : 0;
  const double most = config.kind == RestraintKind::distance ? 1e6 : config.kind == RestraintKind::angle ? 180 : 360;
  for (const auto& point : config.target.points())
    if (point[1] < least || point[1] > most)
      throw InputError(fmt::format("{} is {}, expected {} to {} with kind = \"{}\"", key_of(row, "target"), point[1],
                                   least, most, name_of(config.kind)));
  RestraintSettings settings{.kind = config.kind, .k = config.k, .flat = config.flat * unit};
  settings.target = config.target.scaled(unit);
  for (const auto& text : config.groups) {
    if (text.empty()) throw InputError(fmt::format("{} holds an empty selection", key_of(row, "groups")));
    settings.groups.push_back(selections.find(text, key_of(row, "groups"), system.n_atoms()));
  }
  for (std::size_t i = 1; i < n; ++i)
    if (std::find(settings.groups.begin(), settings.groups.begin() + static_cast<std::ptrdiff_t>(i),
                  settings.groups[i]) != settings.groups.begin() + static_cast<std::ptrdiff_t>(i))
      throw InputError(
          fmt::format("{} selects the same atoms twice, so that a distance is always 0", key_of(row, "groups")));
  return settings;
}

std::string atoms_text(const std::string& text, const model::AtomSet& atoms) {
  return fmt::format("{} atom{}, '{}'", grouped(atoms.size()), atoms.size() == 1 ? "" : "s", text);
}

std::string schedule_text(const TimeSchedule& schedule) {
  const auto& points = schedule.points();
  if (schedule.is_constant()) return fmt::format("{}", points.front()[1]);
  return fmt::format("{} to {} in {} ps", points.front()[1], points.back()[1], points.back()[0]);
}

}  // namespace

std::vector<RestraintSettings> restraint_settings(const RunConfig& config, const model::System& system) {
  std::vector<RestraintSettings> all;
  for (std::size_t row = 0; row < config.restraints.size(); ++row) {
    const auto& one = config.restraints[row];
    refuse_keys_of_others(one, row);
    const bool has_reference = one.kind == RestraintKind::position || one.kind == RestraintKind::rmsd;
    all.push_back(has_reference ? position_settings(one, row, config.selections, system)
                                : group_settings(one, row, config.selections, system));
  }
  return all;
}

model::AtomSet fixed_atoms(const RunConfig& config, const model::System& system) {
  const auto& dynamics = config.dynamics;
  if (dynamics.fixed.empty()) return {};
  if (dynamics.ensemble == Ensemble::npt)
    throw InputError(
        "dynamics.fixed is set with ensemble = \"npt\", which moves all atoms with the box: use \"nvt\", or hold the "
        "atoms by a [[restraint]] of positions");
  auto atoms = config.selections.find(dynamics.fixed, "dynamics.fixed", system.n_atoms());
  if (atoms.size() == system.n_atoms())
    throw InputError("dynamics.fixed selects all atoms, so that none could move: select fewer");
  md::constraint::check_whole_groups(system, dynamics.constraints, atoms, "dynamics.fixed");
  return atoms;
}

std::string describe_restraints(const RunConfig& config, const md::EngineSettings& settings) {
  std::string text;
  if (!settings.fixed.empty()) text += fmt::format("fixed: {}\n", atoms_text(config.dynamics.fixed, settings.fixed));
  for (std::size_t row = 0; row < settings.restraints.size(); ++row) {
    const auto& one = config.restraints[row];
    const bool is_position = one.kind == RestraintKind::position;
    const bool has_reference = is_position || one.kind == RestraintKind::rmsd;
    std::vector<std::string> atoms;
    if (has_reference) atoms.push_back(atoms_text(one.select, settings.restraints[row].atoms));
    for (std::size_t g = 0; g < one.groups.size(); ++g)
      atoms.push_back(atoms_text(one.groups[g], settings.restraints[row].groups[g]));
    const auto* unit = has_reference || one.kind == RestraintKind::distance ? "Å" : "degrees";
    text += fmt::format("restraint {}: {} of {}; k = {} kcal/mol/{}²", row, name_of(one.kind),
                        fmt::join(atoms, " and "), schedule_text(one.k), *unit == 'd' ? "rad" : unit);
    if (!is_position) text += fmt::format(", target {} {}", schedule_text(one.target), unit);
    if (one.flat > 0) text += fmt::format(", flat to {} {}", one.flat, unit);
    if (has_reference && !one.reference.empty()) text += fmt::format(", reference {}", one.reference);
    text += "\n";
  }
  return text;
}

}  // namespace tessera::app
