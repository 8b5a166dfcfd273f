// The state that a run continues from, bit for bit and on any number of ranks.
//
// A checkpoint holds each atom's position at the last pair search, its displacement since and its velocity, all in the
// engine's integers, so that the restarted run builds the same cells and the same list. The file holds a version line,
// a JSON header line, the arrays in id order, and their SHA-256. Two generations are kept: `checkpoint.tck` and
// `checkpoint.previous.tck`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/observers/averages.h"
#include "tessera/base/atomic_file.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/checksum.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// How far a run is, and what it has written.
struct CheckpointNumbers {
  std::int64_t energy_rows = 0;
  std::int64_t trajectory_frames = 0;
  Averages::State averages{};
};

/// With what a run began that did not begin with the coordinates of its system file.
struct Origin {
  Box box;               // at step 0
  std::string checksum;  // of the checkpoint
};

struct Checkpoint : CheckpointNumbers {
  std::string simd;              // that kernels used; any goes on bit for bit
  nlohmann::json settings;       // bit_settings()
  nlohmann::json start;          // start_settings()
  std::optional<Origin> origin;  // of a run that began from another
  std::string checksum;          // of one that was read
  md::Snapshot state;            // of one that was read: with all atoms by id on the root, without atoms elsewhere
};

/// The keys of the run file that decide the bits of a trajectory, with their values in effect, and the system's
/// content: a restart must have the same.
nlohmann::json bit_settings(const RunConfig& config, const md::EngineSettings& settings,
                            const nlohmann::json& fingerprint);

/// Tells of which kind of stage a checkpoint is.
StageKind kind_of(const Checkpoint& checkpoint);

/// The keys that only the start of a run looks at, but for paths.
nlohmann::json start_settings(const RunConfig& config);

/// "interactions.cutoff was 9.0, is 10.0; …": what differs between a checkpoint's settings and a run's, those that
/// people set first; empty where nothing does.
std::string describe_differences(const nlohmann::json& checkpoint, const nlohmann::json& run);

/// Writes a checkpoint, on the root alone, completely or not at all, and keeps the one before. The atoms are appended
/// in parts, so that they need not all be in memory at once. Throws RunError.
class CheckpointWriter {
 public:
  /// Everything but the atoms.
  CheckpointWriter(const std::string& folder, const Checkpoint& checkpoint, std::int64_t n_atoms);
  /// The next atoms in id order.
  void append(const md::Particles& atoms);
  /// Puts it in its place.
  void finish();

 private:
  std::string folder_;
  AtomicFile file_;
  io::Checksum sum_;
};

/// Reads the newest intact checkpoint of a folder; `note` says why an older one is used. Throws InputError where there
/// is none, or none is intact.
Checkpoint read_checkpoint(const std::string& folder, std::string& note);
/// Does the same for a folder or a file; nothing where there is no checkpoint. `path` gets that of the file. Throws
/// InputError where none is intact.
std::optional<Checkpoint> find_checkpoint(const std::string& folder_or_file, std::string& path, std::string& note);
/// Reads all but the atoms of the newest that has a header, without checking what follows; nothing where there is none.
std::optional<Checkpoint> find_checkpoint_header(const std::string& folder_or_file);

/// Sends all of the state but its atoms from the root to all ranks. Collective.
void share_globals(const comm::Communicator& comm, md::Snapshot& state);

}  // namespace tessera::app
