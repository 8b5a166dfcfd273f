// Warns of time steps that are too long for what moves.
#pragma once

#include <string>

#include "tessera/md/engine.h"

namespace tessera::app {

/// Returns one line where a time step is more than a fifth of the fastest period that the constraints leave, or more
/// than 2.5 fs with hydrogens of their own mass outside of rigid waters; empty where it is neither.
std::string note_of_time_step(const md::EngineSettings& settings, const model::System& system);

}  // namespace tessera::app
