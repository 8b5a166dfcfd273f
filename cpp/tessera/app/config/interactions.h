// The interactions of a run. What the run file leaves to "auto" follows the program that the system comes from:
//
//   lj, cutoff  are those of the source
//   switch      is as far below the cut-off as in the source (2 Å where the source has no switch), never below 0
//   lj_tail     is that of the source; false without a box
#pragma once

#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// Returns the Lennard-Jones interactions in effect. Throws InputError where the values in effect, those of
/// electrostatics and the mesh included, contradict each other or do not suit the system.
model::LjTruncation resolve_lj(const RunConfig& config, const model::System& system);

/// Returns the Lennard-Jones interactions of these settings.
model::LjTruncation lj_in_effect(const md::EngineSettings& settings);

/// Describes a truncation: "force-switch from 10 to 12 Å, no tail".
std::string text_of(const model::LjTruncation& truncation);

/// Describes the potentials in place of Lennard-Jones: "born-huggins-mayer (3 pairs of types)"; empty where there are
/// none.
std::string text_of_pair_potentials(const model::System& system);

/// Describes the electrostatics: "PME to 12 Å, α 0.25989 Å⁻¹, mesh 64 × 64 × 64, order 4".
std::string text_of_electrostatics(const md::EngineSettings& settings);

/// Describes the system and its interactions in a line each, for the start of a run.
std::string describe_interactions(const RunConfig& config, const model::System& system,
                                  const md::EngineSettings& settings);

/// Returns one line about settings that differ from those of the system's source; empty where none does.
std::string note_of_source(const RunConfig& config, const model::System& system);

}  // namespace tessera::app
