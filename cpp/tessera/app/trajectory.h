// Frames of a run: whole molecules from the engine's fractions, to the format that the run file asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/io/dcd.h"
#include "tessera/io/h5md.h"
#include "tessera/md/domain/domain.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Positions (n,3) Å in id order. `whole`: molecules are put together, their first atom in the box; otherwise every
/// atom is in the box by itself. The box spans −½ to ½ of its edges.
std::vector<float> frame_positions(const model::System& system, const std::vector<md::domain::Particle>& particles,
                                   bool whole);

/// On the root rank alone.
class Trajectory {
 public:
  /// Begins the file, or goes on after `frames` frames where that is given. No file if the format is none or no frames
  /// are asked for.
  Trajectory(const RunConfig& config, const model::System& system, std::int64_t first_step,
             std::optional<std::int64_t> frames);

  void append(std::int64_t step, double time, const std::vector<md::domain::Particle>& particles);
  std::int64_t n_frames() const;
  bool is_active() const { return dcd_ || h5md_; }

 private:
  const model::System& system_;
  bool whole_;
  std::optional<io::DcdWriter> dcd_;
  std::optional<io::H5mdWriter> h5md_;
};

}  // namespace tessera::app
