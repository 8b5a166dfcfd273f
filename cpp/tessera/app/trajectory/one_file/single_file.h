// Trajectories in one file: DCD, H5MD and HISTORY, of which several ranks write the atoms of their shares, and XTC, of
// which they compress whole frames in turn.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tessera/app/config/run_config.h"
#include "tessera/app/trajectory/exchange.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trajectory/sink.h"
#include "tessera/app/trajectory/writers.h"
#include "tessera/comm/communicator.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Begins a file, or goes on after its first `frames` frames where that is given and the file is there. `exchange` and
/// `comm` must outlive it. Throws InputError, RunError. Collective.
std::unique_ptr<FrameSink> open_single_file(const TrajectorySettings& settings, const RunConfig& config,
                                            const model::System& system, const FrameExchange& exchange,
                                            const io::write::Choice& method, std::int64_t first_step,
                                            std::optional<std::int64_t> frames, const comm::Communicator& comm);

}  // namespace tessera::app
