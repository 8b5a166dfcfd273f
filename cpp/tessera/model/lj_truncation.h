// How Lennard-Jones interactions are truncated. Programs differ in this, and each force field was fitted with one
// truncation, so a System keeps that of its source.
#pragma once

#include <array>
#include <string_view>

namespace tessera::model {

/// How Lennard-Jones goes to zero at the cut-off; formulas in md/pair/functions.h.
enum class LjModifier { cut, potential_switch, force_switch, force_switch_gromacs, quintic_switch, pme };

/// The names of the modifiers in run files and system files, in their order.
inline constexpr std::array<std::string_view, 6> lj_modifier_names = {
    "cut", "potential-switch", "force-switch", "force-switch-gromacs", "quintic-switch", "pme"};
constexpr const auto& names_of(LjModifier) { return lj_modifier_names; }
/// Tells whether a modifier begins at a switching distance.
constexpr bool has_switch(LjModifier modifier) { return modifier != LjModifier::cut && modifier != LjModifier::pme; }

struct LjTruncation {
  LjModifier modifier = LjModifier::cut;
  double cutoff = 0;           // Å
  double switch_distance = 0;  // Å, where the modifier begins; unused without a switch
  bool has_tail = false;       // whether the mean energy and pressure beyond the cut-off are added

  std::string_view name() const { return lj_modifier_names[static_cast<std::size_t>(modifier)]; }
};

/// A program from whose inputs system files are made.
struct SourceProgram {
  std::string_view name;   // `coulomb_source` of system files
  std::string_view title;  // for people
};

inline constexpr std::array<SourceProgram, 5> source_programs = {{
    {"charmm", "CHARMM"},
    {"amber", "AMBER"},
    {"gromacs", "GROMACS"},
    {"openmm", "OpenMM"},
    {"dl_poly", "DL_POLY"},
}};

/// Finds a program by its name; nullptr where there is none.
constexpr const SourceProgram* find_source_program(std::string_view name) {
  for (const auto& program : source_programs)
    if (program.name == name) return &program;
  return nullptr;
}

}  // namespace tessera::model
