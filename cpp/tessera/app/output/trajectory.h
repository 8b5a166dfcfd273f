// Frames of a run: whole molecules from the engine's fractions, to the format that the run file asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/io/dcd.h"
#include "tessera/io/h5md.h"
#include "tessera/io/xtc.h"
#include "tessera/md/domain/domain.h"
#include "tessera/model/atom_set.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Positions (n,3) Å of a state that holds all atoms in id order. `whole`: molecules are put together, their first atom
/// in the box; otherwise every atom is in the box by itself. The box spans −½ to ½ of its edges.
std::vector<float> frame_positions(const model::System& system, const md::Snapshot& state, bool whole);

/// On the root rank alone.
class Trajectory {
 public:
  /// Begins the file, or goes on after `frames` frames where that is given and the file is there. No file if the format
  /// is none or no frames are asked for.
  Trajectory(const RunConfig& config, const model::System& system, std::int64_t first_step,
             std::optional<std::int64_t> frames);
  /// Throws InputError where the format can't hold what is asked for, or no such atoms are there.
  static void check(const RunConfig& config, const model::System& system);
  /// Of a frame. Throws InputError where the selection has no atoms.
  static std::int64_t n_atoms(const RunConfig& config, const model::System& system);
  /// The file's path; empty where there is none.
  static std::string path(const OutputConfig& output);

  void append(std::int64_t step, double time, const md::Snapshot& state);
  std::int64_t n_frames() const;
  /// False once the file was removed, moved or replaced.
  bool is_in_place() const;
  bool is_active() const { return dcd_ || h5md_ || xtc_; }

 private:
  std::vector<float> selected(std::vector<float> values) const;

  const model::System& system_;
  model::AtomSet atoms_;  // of a frame
  bool whole_, with_velocities_;
  std::optional<io::DcdWriter> dcd_;
  std::optional<io::H5mdWriter> h5md_;
  std::optional<io::XtcWriter> xtc_;
};

}  // namespace tessera::app
