#include "tessera/app/config/interactions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "tessera/app/config/errors.h"
#include "tessera/app/config/schema.h"
#include "tessera/app/numbers_text.h"
#include "tessera/base/math/elementary.h"

namespace tessera::app {

namespace {

constexpr double usual_width = 2;  // Å, between switch and cut-off

/// Returns the program that the system comes from, as its users write it: "CHARMM".
std::string title_of_source(const model::System& system) {
  const auto* program = model::find_source_program(system.coulomb_source);
  return program ? std::string(program->title) : system.coulomb_source;
}

/// Returns "interactions.cutoff = 9.0 Å", followed by "(auto)" where the run file does not give the value.
std::string text_of_length(const std::string& name, double value, bool is_given) {
  return fmt::format("{} = {} Å{}", name, toml_text(value), is_given ? "" : " (auto)");
}

/// Returns "the types NA and CL".
std::string names_of_types(const model::ForceField& field, int a, int b) {
  return fmt::format("the types {} and {}", field.type_name[static_cast<std::size_t>(a)],
                     field.type_name[static_cast<std::size_t>(b)]);
}

constexpr double accepted_repulsion = 1;  // kcal/mol at the switch with a tail, somewhat more than kT

std::string describe_repulsion(const model::LjTruncation& lj, const std::string& types) {
  return fmt::format(
      "interactions.lj_tail takes the fluid to be uniform beyond interactions.switch = {} Å, where atoms of {} still "
      "repel each other: raise the switch, or set interactions.lj_tail = false",
      toml_text(lj.switch_distance), types);
}

/// Says between which types the tail is wrong: it assumes a uniform fluid beyond the switch, which does not hold where
/// atoms repel each other, and diverges at 0.
std::string describe_crowded_tail(const model::LjTruncation& lj, const model::System& system) {
  const auto& field = system.force_field;
  const auto counts = system.type_counts();
  const int n = static_cast<int>(counts.size());
  const double r6 = math::pow(lj.switch_distance, 6);
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) {
      if (counts[static_cast<std::size_t>(i)] == 0 || counts[static_cast<std::size_t>(j)] == 0) continue;
      const auto [a, b] = field.lj(i, j);
      if ((a == 0 && b == 0) || (r6 > 0 && (a / r6 - b) / r6 <= accepted_repulsion)) continue;
      return describe_repulsion(lj, names_of_types(field, i, j));
    }
  return "";
}

/// Checks what is asked of pair potentials in place of Lennard-Jones.
void check_pair_potentials(const model::LjTruncation& lj, const model::System& system, Errors& errors) {
  const auto& field = system.force_field;
  if (field.pair_potentials.empty()) return;
  if (lj.modifier == LjModifier::force_switch || lj.modifier == LjModifier::force_switch_gromacs ||
      lj.modifier == LjModifier::pme)
    errors.add(fmt::format(
        "interactions.lj = \"{}\" is defined for Lennard-Jones alone, and the system has pair potentials in its place: "
        "set \"cut\", \"potential-switch\" or \"quintic-switch\"",
        lj.name()));
  for (const auto& pair : field.pair_potentials) {
    const model::PairPotentialFunction function(pair, field.pair_tables);
    const auto types = names_of_types(field, pair.type_a, pair.type_b);
    if (function.end() < lj.cutoff * (1 - 1e-9))
      errors.add(fmt::format("the table of {} ends at {:g} Å, before interactions.cutoff = {} Å: lower the cut-off",
                             types, function.end(), toml_text(lj.cutoff)));
    if (!lj.has_tail || !system.is_periodic) continue;
    if (!function.has_tail())
      errors.add(
          fmt::format("the potential of {} falls so slowly that interactions.lj_tail has no limit: set it to "
                      "false",
                      types));
    else if (model::has_switch(lj.modifier) && function(lj.switch_distance).energy > accepted_repulsion)
      errors.add(describe_repulsion(lj, types));
  }
}

void check_lj_mesh(const RunConfig& config, const model::LjTruncation& lj, const model::System& system,
                   Errors& errors) {
  constexpr double greatest = 4;  // of α·cutoff, where the share of the direct sum is 2·10⁻⁵ at the cut-off
  const auto& n = config.interactions;
  if (config.pme.lj_alpha * lj.cutoff > greatest)
    errors.add(fmt::format("pme.lj_alpha = {} /Å, expected at most {:.4f} with a cut-off of {} Å",
                           toml_text(config.pme.lj_alpha), greatest / lj.cutoff, toml_text(lj.cutoff)));
  const std::string_view name = n.lj ? "interactions.lj = \"pme\"" : "interactions.lj = \"pme\" (auto)";
  if (n.electrostatics != Electrostatics::pme)
    errors.add(fmt::format("{} needs the mesh of interactions.electrostatics = \"pme\"", name));
  if (lj.has_tail)
    errors.add(
        fmt::format("{} sums all of the dispersion, so there is no tail: set interactions.lj_tail = false", name));
  if (!system.force_field.nbfix.empty()) {
    const auto& pair = system.force_field.nbfix.front();
    const auto& types = system.force_field.type_name;
    errors.add(fmt::format(
        "{} is not offered for pairs of types with parameters of their own (NBFIX), of which the system has {}, {} and "
        "{} among them: the mesh has the geometric mean of all pairs; set interactions.lj to another of its values",
        name, system.force_field.nbfix.size(), types[static_cast<std::size_t>(pair.type_a)],
        types[static_cast<std::size_t>(pair.type_b)]));
  }
}

void check(const RunConfig& config, const model::LjTruncation& lj, const model::System& system) {
  Errors errors;
  check_pair_potentials(lj, system, errors);
  const auto& n = config.interactions;
  const auto cutoff = text_of_length("interactions.cutoff", lj.cutoff, n.cutoff.has_value());
  const bool is_switched = model::has_switch(lj.modifier);
  if (is_switched && lj.switch_distance >= lj.cutoff)
    errors.add(fmt::format("{} must be less than {}; set interactions.switch, or interactions.lj = \"cut\"",
                           text_of_length("interactions.switch", lj.switch_distance, n.switch_distance.has_value()),
                           cutoff));
  else if (is_switched && lj.has_tail && system.is_periodic)
    if (const auto problem = describe_crowded_tail(lj, system); !problem.empty()) errors.add(problem);
  if (lj.modifier == LjModifier::pme) check_lj_mesh(config, lj, system, errors);
  if (n.electrostatics == Electrostatics::force_switch && n.coulomb_switch >= lj.cutoff)
    errors.add(
        fmt::format("interactions.coulomb_switch = {} Å must be less than {}", toml_text(n.coulomb_switch), cutoff));
  if (n.electrostatics == Electrostatics::pme && config.pme.cutoff > 0 && config.pme.cutoff < lj.cutoff)
    errors.add(
        fmt::format("pme.cutoff = {} Å must be at least {}, or 0 for the same", toml_text(config.pme.cutoff), cutoff));
  if (!system.is_periodic && n.electrostatics == Electrostatics::pme)
    errors.add(
        "the system has no periodic box, so a mesh can't act: set interactions.electrostatics to \"cut\", \"shift\" or "
        "\"force-switch\", or prepare the system with --box");
  if (!system.is_periodic && lj.has_tail)
    errors.add("the system has no periodic box, so interactions.lj_tail has no density: set it to false");
  errors.raise("the settings in effect");
}

}  // namespace

model::LjTruncation resolve_lj(const RunConfig& config, const model::System& system) {
  const auto& n = config.interactions;
  const auto& source = system.lj_truncation;
  model::LjTruncation lj;
  lj.modifier = n.lj.value_or(source.modifier);
  lj.cutoff = n.cutoff.value_or(source.cutoff);
  if (model::has_switch(lj.modifier)) {
    const bool has_width = model::has_switch(source.modifier);
    const double width = has_width ? source.cutoff - source.switch_distance : usual_width;
    lj.switch_distance = has_width && !n.cutoff ? source.switch_distance : std::max(0.0, lj.cutoff - width);
  }
  lj.switch_distance = n.switch_distance.value_or(lj.switch_distance);
  lj.has_tail = n.lj_tail.value_or(source.has_tail && system.is_periodic && lj.modifier != LjModifier::pme);
  check(config, lj, system);
  return lj;
}

model::LjTruncation lj_in_effect(const md::EngineSettings& settings) {
  return {settings.pair.lj, settings.pair.cutoff, settings.pair.switch_distance, settings.lj_tail};
}

std::string text_of(const model::LjTruncation& lj) {
  const std::string_view tail = lj.has_tail ? "with tail" : "no tail";
  if (lj.modifier == LjModifier::pme) return fmt::format("direct sum to {} Å, dispersion beyond by mesh", lj.cutoff);
  if (lj.modifier == LjModifier::cut) return fmt::format("cut at {} Å, {}", lj.cutoff, tail);
  return fmt::format("{} from {} to {} Å, {}", lj.name(), lj.switch_distance, lj.cutoff, tail);
}

std::string text_of_pair_potentials(const model::System& system) {
  std::string text;
  for (std::size_t kind = 0; kind < model::pair_potential_names.size(); ++kind) {
    const auto count =
        std::count_if(system.force_field.pair_potentials.begin(), system.force_field.pair_potentials.end(),
                      [&](const auto& pair) { return pair.kind == static_cast<model::PairPotentialKind>(kind); });
    if (count > 0)
      text += fmt::format("{}{} ({} {} of types)", text.empty() ? "" : ", ", model::pair_potential_names[kind], count,
                          count == 1 ? "pair" : "pairs");
  }
  return text;
}

std::string text_of_electrostatics(const md::EngineSettings& settings) {
  const auto& pair = settings.pair;
  const auto& mesh = settings.pme_grid;
  switch (pair.electrostatics) {
    case Electrostatics::pme:
      return fmt::format("PME to {} Å, α {:.5f} Å⁻¹, mesh {} × {} × {}, order {}", pair.range(), pair.alpha, mesh[0],
                         mesh[1], mesh[2], settings.pme_order);
    case Electrostatics::cut:
      return fmt::format("cut at {} Å", pair.cutoff);
    case Electrostatics::shift:
      return fmt::format("shifted, to {} Å", pair.cutoff);
    case Electrostatics::force_switch:
      return fmt::format("force-switch from {} to {} Å", pair.coulomb_switch, pair.cutoff);
  }
  return "";
}

std::string describe_interactions(const RunConfig& config, const model::System& system,
                                  const md::EngineSettings& settings) {
  const auto potentials = text_of_pair_potentials(system);
  return fmt::format("{}: {} atoms, from {}\n{}: {}\nelectrostatics: {}; Coulomb constant {}\n",
                     std::filesystem::path(config.input.system).filename().string(), grouped(system.n_atoms()),
                     title_of_source(system),
                     potentials.empty() ? "Lennard-Jones" : fmt::format("pair potentials: {}; all", potentials),
                     text_of(lj_in_effect(settings)), text_of_electrostatics(settings), settings.pair.coulomb_constant);
}

std::string note_of_source(const RunConfig& config, const model::System& system) {
  const auto& source = system.lj_truncation;
  const auto lj = resolve_lj(config, system);
  const auto& n = config.interactions;
  std::vector<std::string> others;
  const auto compare = [&](const char* name, const auto& given, const auto& of_source) {
    if (!given || *given == of_source) return;
    others.push_back(fmt::format("{} = {}", name, toml_text(run_schema().key(name).load(config))));
  };
  compare("interactions.lj", n.lj, source.modifier);
  compare("interactions.cutoff", n.cutoff, source.cutoff);
  const bool is_switched = model::has_switch(lj.modifier);
  if (is_switched)
    compare("interactions.switch", n.switch_distance, model::has_switch(source.modifier) ? source.switch_distance : -1);
  compare("interactions.lj_tail", n.lj_tail, source.has_tail && system.is_periodic);
  std::string note;
  if (!others.empty())
    note =
        fmt::format("{} {} set, and {} comes from {}, which has Lennard-Jones {}", fmt::join(others, ", "),
                    others.size() == 1 ? "is" : "are", std::filesystem::path(config.input.system).filename().string(),
                    title_of_source(system), text_of(source));
  if (!is_switched && n.switch_distance && !n.lj)
    note += fmt::format(
        "{}interactions.switch = {} has no effect, as {} does not switch Lennard-Jones (set interactions.lj to switch "
        "it)",
        note.empty() ? "" : "; ", toml_text(*n.switch_distance), title_of_source(system));
  return note;
}

}  // namespace tessera::app
