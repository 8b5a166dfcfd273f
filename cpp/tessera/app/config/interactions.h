// Which interactions run. What the run file leaves to "auto" follows the program that the system comes from:
//
//   lj, cutoff  as the source has them
//   switch      as far below the cut-off as the source has it (2 Å where the source has no switch), never below 0
//   lj_tail     as the source has it; false without a box
#pragma once

#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// The Lennard-Jones that runs. Throws InputError where the values in effect contradict each other, those of
/// electrostatics and the mesh too, or are of no sense for the system.
model::LjTruncation resolve_lj(const RunConfig& config, const model::System& system);

/// The Lennard-Jones of these settings.
model::LjTruncation lj_in_effect(const md::EngineSettings& settings);

/// "force-switch from 10 to 12 Å, no tail".
std::string text_of(const model::LjTruncation& truncation);

/// "PME to 12 Å, α 0.25989 Å⁻¹, mesh 64 × 64 × 64, order 4".
std::string text_of_electrostatics(const md::EngineSettings& settings);

/// The system and what acts in it, a line each: what a run begins with.
std::string describe_interactions(const RunConfig& config, const model::System& system,
                                  const md::EngineSettings& settings);

/// One line about what the run file sets and the system's source has otherwise; empty: nothing.
std::string note_of_source(const RunConfig& config, const model::System& system);

}  // namespace tessera::app
