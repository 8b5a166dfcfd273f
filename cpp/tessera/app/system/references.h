// The references of restraints of positions.
#pragma once

#include "tessera/app/config/run_config.h"
#include "tessera/app/system/system_file.h"
#include "tessera/md/settings.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Adds a field for each reference of the restraints (RestraintSettings::reference): the places of the atoms of a
/// start, or of the system file that a restraint names, as fractions of the box of their file. Throws InputError where
/// such a file can't be read or has other atoms.
void add_references(CoordinateBlock& block, const RunConfig& config, const md::EngineSettings& settings,
                    const model::System& system);

}  // namespace tessera::app
