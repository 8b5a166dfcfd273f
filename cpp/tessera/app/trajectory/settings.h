// The trajectories that a run file asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/trajectory/format.h"
#include "tessera/model/atom_set.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// One trajectory: that of [output], or of a row of [[output.selection]].
struct TrajectorySettings {
  std::string name;  // main_trajectory, or that of the row
  std::string path;  // of its file or folder
  const TrajectoryFormat* format = nullptr;
  std::int64_t every = 0;   // steps
  std::string select, key;  // the atoms; what messages call them
  FrameContents contents;
  double moved = 0;          // Å
  bool is_as_owned = false;  // atoms stand as ranks own them
};

/// Returns those of which frames are asked for, that of [output] first.
std::vector<TrajectorySettings> trajectories_of(const OutputConfig& output);

/// Returns the atoms of a frame. Throws InputError where the selection has none.
model::AtomSet atoms_of(const TrajectorySettings& settings, const RunConfig& config, std::int64_t n_atoms);

/// Throws InputError where a format can't hold what is asked for, no such atoms are there, or names don't do.
void check_trajectories(const RunConfig& config, const model::System& system);

/// Returns the bytes of a frame as ranks make it: of segments before compression.
std::int64_t frame_bytes(const TrajectorySettings& settings, std::int64_t atoms_of_frame);

}  // namespace tessera::app
