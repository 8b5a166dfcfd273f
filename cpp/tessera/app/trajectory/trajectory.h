// A trajectory of a run: frames of the atoms that the run file names, in the format that it asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tessera/app/config/run_config.h"
#include "tessera/app/trajectory/exchange.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trajectory/sink.h"
#include "tessera/app/trajectory/writers.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"
#include "tessera/model/atom_set.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// All members are collective, but those that are const.
class Trajectory {
 public:
  /// Plans who writes which atoms; no file changes before begin() or go_on(). References must outlive it. Throws
  /// InputError.
  Trajectory(TrajectorySettings settings, const RunConfig& config, const model::System& system,
             const std::string& machine_file, const comm::Communicator& comm);

  const TrajectorySettings& settings() const { return settings_; }

  /// Makes a frame of the present state; until the files are there, the first is kept in memory. Throws RunError.
  void record(const md::Engine& engine);
  /// Begins the files of a new run and writes what record() has kept. Throws RunError.
  void begin();
  /// Continues from a checkpoint, which counts so many frames if it counts these. Returns a note for people. Throws
  /// InputError, RunError.
  std::string go_on(std::int64_t step, std::optional<std::int64_t> frames);
  /// Waits until all frames are on the disk. Throws RunError.
  void synchronize();
  /// Counts the frames of the files, on the root.
  std::int64_t n_frames() const { return sink_ ? sink_->n_frames() : 0; }
  /// Returns false once a file that this rank writes was removed, moved or replaced.
  bool is_in_place() const { return !sink_ || sink_->is_in_place(); }

 private:
  void open(std::int64_t first_step, std::optional<std::int64_t> frames);

  TrajectorySettings settings_;
  const RunConfig& config_;
  const model::System& system_;
  const comm::Communicator& comm_;
  model::AtomSet atoms_;
  io::write::Choice method_;
  FrameExchange exchange_;
  std::optional<Frame> first_;
  std::unique_ptr<FrameSink> sink_;
};

}  // namespace tessera::app
