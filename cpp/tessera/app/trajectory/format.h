// The registry of the formats in which frames are written.
//
// To add one: a file with its sink and its entry in one_file/, a line in config/run_config.h, and an entry in
// python/tessera/traj/formats.py, by which `tessera verify`, `export` and `traj convert` read and write it. The schema
// of run files, the checks of what is asked for, sizes and plans of writers read the entry.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tessera/app/config/run_config.h"
#include "tessera/app/trajectory/exchange.h"
#include "tessera/app/trajectory/sink.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/write/choose.h"
#include "tessera/model/system.h"

namespace tessera::app {

struct TrajectorySettings;

/// What the files of a trajectory are opened with. References must outlive them.
struct Opening {
  const TrajectorySettings& settings;
  const RunConfig& config;
  const model::System& system;
  const FrameExchange& exchange;
  const io::write::Choice& method;     // of formats that are `written_as` one of io::write
  std::int64_t first_step;             // of the first frame of a new run, or that of the checkpoint
  std::optional<std::int64_t> frames;  // on a restart: those to go on after, where the file is there
  const comm::Communicator& comm;

  std::int64_t n_atoms() const { return exchange.shares().atoms().size(); }
};

struct TrajectoryFormat {
  std::string_view name;   // of output.trajectory, and the ending of the file or folder
  const char* method{};    // of io::write: the one by which frames are written; nullptr: all for `written_as`
  bool is_folder = false;  // in which each leg of a run begins files of its own
  bool has_velocities = false, has_forces = false;
  bool is_compressed = false;     // as output.compression says
  bool is_rounded = false;        // positions are, whatever output.compression says
  bool takes_turns = false;       // ranks make whole frames in turn, which one of them writes; else each a share of all
  std::int64_t header_bytes = 0;  // of a file before its first frame, about
  /// The format of io::write in which rows are written, in batches and in any order.
  const io::write::Format& (*written_as)(const FrameContents& contents) = nullptr;
  /// Throws InputError where the format can't hold what is asked for, beside what the members above tell.
  void (*check)(const TrajectorySettings& settings, const RunConfig& config, const model::System& system,
                std::int64_t n_atoms) = nullptr;
  /// Bytes of an atom in a frame as ranks make it; nullptr: single precision.
  std::int64_t (*atom_bytes)(const FrameContents& contents) = nullptr;
  /// Bytes of a frame in the file: as usual, where they depend on the numbers.
  std::int64_t (*frame_bytes)(const TrajectorySettings& settings, std::int64_t n_atoms, bool is_periodic);
  /// Begins the files, or goes on. Throws InputError, RunError. Collective.
  std::unique_ptr<FrameSink> (*open)(const Opening& opening);
};

std::span<const TrajectoryFormat> trajectory_formats();
/// Throws InputError where there is none of this name.
const TrajectoryFormat& trajectory_format(const std::string& name);

}  // namespace tessera::app
