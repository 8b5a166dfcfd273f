// The trajectory of a run: frames of the atoms that the run file names, in the format that it asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tessera/app/config/run_config.h"
#include "tessera/app/trajectory/exchange.h"
#include "tessera/app/trajectory/sink.h"
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
  Trajectory(const RunConfig& config, const model::System& system, const std::string& machine_file,
             const comm::Communicator& comm);

  /// Throws InputError where the format can't hold what is asked for, or no such atoms are there.
  static void check(const RunConfig& config, const model::System& system);
  /// Of a frame. Throws InputError where the selection has no atoms.
  static std::int64_t n_atoms(const RunConfig& config, const model::System& system);
  /// The path of the file or folder; empty where no frames are asked for.
  static std::string path(const OutputConfig& output);

  /// Makes a frame of the present state; until the files are there, the first is kept in memory. Throws RunError.
  void record(const md::Engine& engine);
  /// Begins the files of a new run and writes what record() has kept. Throws RunError.
  void begin();
  /// Goes on from a checkpoint that counts so many frames. Returns a note for people. Throws InputError, RunError.
  std::string go_on(std::int64_t step, std::int64_t frames);
  /// Waits until all frames are on the disk. Throws RunError.
  void synchronize();
  /// Of the files, on the root.
  std::int64_t n_frames() const { return sink_ ? sink_->n_frames() : 0; }
  /// False once a file that this rank writes was removed, moved or replaced.
  bool is_in_place() const { return !sink_ || sink_->is_in_place(); }

 private:
  void open(std::int64_t first_step, std::optional<std::int64_t> frames);

  const RunConfig& config_;
  const model::System& system_;
  const comm::Communicator& comm_;
  model::AtomSet atoms_;
  std::optional<FrameExchange> exchange_;  // nothing where no frames are asked for
  std::optional<Frame> first_;
  std::unique_ptr<FrameSink> sink_;
};

}  // namespace tessera::app
