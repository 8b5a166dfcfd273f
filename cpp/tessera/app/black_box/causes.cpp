#include "tessera/app/black_box/causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <vector>

namespace tessera::app {

namespace {

struct Known {
  const std::optional<Trouble>& trouble;
  const Circumstances& around;
  const model::System& system;

  bool has_term(std::string_view begin) const { return trouble && trouble->strongest.term.starts_with(begin); }
  /// Names the atoms of the strongest interaction.
  std::string atoms() const {
    const auto& strongest = trouble->strongest;
    std::vector<std::string> names;
    for (const auto atom : strongest.atoms) names.push_back(system.describe(atom));
    if (names.empty()) names.push_back(system.describe(trouble->atom));
    if (strongest.partner >= 0) names.push_back(system.describe(strongest.partner));
    return fmt::format("{}", fmt::join(names, ", "));
  }
};

std::string advice_of_overlap(const Known& known) {
  return fmt::format(
      "too near each other: {}: minimise first (a stage of kind = \"minimize\"), or move or remove a molecule that lies "
      "in the place of another",
      known.atoms());
}

/// A kind of failure: its sign and what helps. The first whose sign is there counts.
struct Entry {
  const char* name;
  bool (*is_it)(const Known& known);
  std::string (*advice)(const Known& known);
};

constexpr double much = 0.03;  // of an edge; thermal fluctuations of so small a box would be a tenth of that

constexpr std::array entries = {
    Entry{"velocity", [](const Known& k) { return k.around.is_first_state && k.trouble && k.trouble->is_too_fast; },
          [](const Known& k) {
            return fmt::format(
                "{} had this velocity when the run began: correct it in the input (unit Å/ps), or let the run draw "
                "velocities: dynamics.velocities = \"generate\"",
                k.system.describe(k.trouble->atom));
          }},
    Entry{"overlap",
          [](const Known& k) {
            constexpr double near = 1.5;  // Å; hydrogen bonds are longer
            return k.around.is_first_state &&
                   (k.has_term("lj") || (k.has_term("coulomb_real") && k.trouble->strongest.nearest >= 0 &&
                                         k.trouble->strongest.distance < near));
          },
          advice_of_overlap},
    Entry{
        "restraint", [](const Known& k) { return k.has_term("restraint"); },
        [](const Known&) {
          return std::string(
              "a restraint pulls from far away: see that its reference or target is that of these atoms, or let its k "
              "rise from 0 (k = [[0, 0], [100, 1]] in [[restraint]]: time in ps, value)");
        }},
    Entry{"external force", [](const Known& k) { return k.has_term("external"); },
          [](const Known&) { return std::string("see what the external force returns for this atom"); }},
    Entry{
        "box", [](const Known& k) { return k.around.is_box_too_small || k.around.change_of_box.of_an_edge > much; },
        [](const Known& k) {
          const auto& [change, steps] = k.around.change_of_box;
          const auto what = change > much
                                ? fmt::format("the box changed by {:.1f} % in {} steps: ", 100 * change, steps)
                                : std::string();
          return what +
                 "equilibrate at constant volume first, then with barostat = \"c-rescale\" and dynamics.tau_p of 5 ps "
                 "or more; see that dynamics.pressure and dynamics.compressibility are those of this system, and that "
                 "its box has no gaps";
        }},
    Entry{"time step", [](const Known& k) { return !k.around.note_of_time_step.empty() && !k.around.is_first_state; },
          [](const Known& k) { return k.around.note_of_time_step; }},
    Entry{"bonded term", [](const Known& k) { return k.trouble && !k.trouble->strongest.atoms.empty(); },
          [](const Known& k) {
            return fmt::format(
                "see the {} of {}: its parameters (units, factors of two), whether these are the atoms that are meant, "
                "and whether the molecule is whole; where the geometry alone is bad, minimise first (a stage of kind = "
                "\"minimize\")",
                k.trouble->strongest.term, k.atoms());
          }},
    Entry{"overlap", [](const Known& k) { return k.has_term("lj"); }, advice_of_overlap},
    Entry{"charges", [](const Known& k) { return k.has_term("coulomb"); },
          [](const Known& k) {
            return fmt::format(
                "charges fall onto each other: see the charges of {} (sign, size), and that charged atoms have a "
                "Lennard-Jones radius that keeps others away",
                k.atoms());
          }},
    Entry{"unknown", [](const Known&) { return true; },
          [](const Known&) {
            return std::string(
                "minimise first (a stage of kind = \"minimize\"), heat slowly, or use a shorter dynamics.timestep");
          }},
};

}  // namespace

Cause find_cause(const std::optional<Trouble>& trouble, const Circumstances& around, const model::System& system) {
  const Known known{trouble, around, system};
  const auto* entry = entries.begin();
  while (!entry->is_it(known)) ++entry;
  return {entry->name, entry->advice(known)};
}

}  // namespace tessera::app
