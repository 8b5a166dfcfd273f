// Trajectories in one file: DCD, of which several ranks write the atoms of their shares, and XTC and H5MD, which the
// root writes. A frame of an XTC is one stream of bits, in which the place of an atom follows from all before it; the
// places in an H5MD are HDF5's.
#pragma once

#include <memory>
#include <optional>

#include "tessera/app/config/run_config.h"
#include "tessera/app/trajectory/exchange.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trajectory/sink.h"
#include "tessera/comm/communicator.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Begins a file, or goes on after its first `frames` frames where that is given and the file is there. `exchange` and
/// `comm` must outlive it. Throws InputError, RunError. Collective.
std::unique_ptr<FrameSink> open_single_file(const TrajectorySettings& settings, const RunConfig& config,
                                            const model::System& system, const FrameExchange& exchange,
                                            std::int64_t first_step, std::optional<std::int64_t> frames,
                                            const comm::Communicator& comm);

}  // namespace tessera::app
