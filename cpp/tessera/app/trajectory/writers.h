// Who writes the frames of a trajectory, and the memory that this takes: plans, which need no other rank.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/app/config/run_config.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/io/write/choose.h"

namespace tessera::app {

/// Returns how many of so many ranks write a trajectory: output.writers of them, or where that is 0 as many as have a
/// few megabytes of a frame each, not more than the machine file knows to pay on the file system of the folder
/// (`tessera io bench`). Of an XTC they make whole frames in turn, eight at most. Throws InputError as the machine
/// file's reader does.
int plan_writers(const TrajectorySettings& settings, const OutputConfig& output, const std::string& machine_file,
                 std::int64_t atoms_of_frame, int ranks);

/// Chooses the method of output.method, or where that is "auto" what the machine file says to be the fastest on the file system
/// of the folder (`tessera io bench`). Throws InputError as the machine file's reader does.
io::write::Choice plan_method(const TrajectorySettings& settings, const OutputConfig& output,
                              const std::string& machine_file, std::int64_t atoms_of_frame, int ranks);

/// Predicts the bytes that a writer of whole frames or of shares of them holds while it makes a frame and the one
/// before is written, on the rank that needs most. Where frames are small and the disk is slow, more of them wait
/// (`most_bytes_held`).
std::int64_t planned_frame_memory(const TrajectorySettings& settings, std::int64_t atoms_of_frame, int writers);

}  // namespace tessera::app
