// Where a new run begins: with the coordinates of its system file, or at the end of another run (input.start).
#pragma once

#include <optional>
#include <string>

#include "tessera/app/config/run_config.h"
#include "tessera/app/restart/checkpoint.h"
#include "tessera/app/system/system_file.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// Sets the system's box to that in which a new run begins. A rank may call it alone. Throws InputError.
void take_box_of_start(model::System& system, const RunConfig& config);
/// Sets the system's box to that in which the run in this folder began.
void take_box_of_restart(model::System& system, const std::string& folder);

/// This rank's share of what a new run begins with. Velocities of another run that are all zero count as none.
struct RunStart {
  CoordinateBlock block;
  std::optional<Origin> origin;
  std::string note;  // on the root: from where it is, and what is to be known of it
};

/// Throws InputError, also where the other run has other atoms. Collective.
RunStart read_start(const SystemSource& source, const RunConfig& config, const model::System& system,
                    const comm::Communicator& comm);

/// Begins at step 0 with these rows, and velocities as dynamics.velocities says. Throws InputError. Collective.
void begin(md::Engine& engine, CoordinateBlock block, const RunConfig& config, const comm::Communicator& comm);

}  // namespace tessera::app
