// The state that a run continues from, bit for bit and on any number of ranks.
//
// A checkpoint holds each atom's position at the last pair search, its displacement since and its velocity, all in the
// engine's integers, so that the restarted run builds the same cells and the same list. checkpoint_file.h says how it
// is kept.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/observers/averages.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// How far a run is, and what it has written.
struct CheckpointNumbers {
  std::int64_t energy_rows = 0;
  std::map<std::string, std::int64_t> frames;  // of each trajectory, by its name
  Averages::State averages{};
};

/// The start of a run that did not begin with the coordinates of its system file.
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
  std::int64_t n_atoms = 0;      // of one that was read
  md::Snapshot state;            // of one that was read: with this rank's share of the atoms
};

/// Returns the keys of the run file that decide the bits of a trajectory, with their values in effect, and the system's
/// content: a restart must have the same.
nlohmann::json bit_settings(const RunConfig& config, const md::EngineSettings& settings,
                            const nlohmann::json& fingerprint);

/// Tells the kind of stage that a checkpoint is of.
StageKind kind_of(const Checkpoint& checkpoint);

/// Returns the keys that only the start of a run looks at, but for paths.
nlohmann::json start_settings(const RunConfig& config);

/// Describes what differs between a checkpoint's settings and a run's, those that people set first:
/// "interactions.cutoff was 9.0, is 10.0; …"; empty where nothing does.
std::string describe_differences(const nlohmann::json& checkpoint, const nlohmann::json& run);

/// Returns all of a checkpoint but its atoms. Doubles go there and back to the last bit.
nlohmann::json to_json(const Checkpoint& checkpoint, std::int64_t n_atoms);
/// Throws nlohmann::json::exception where something is missing or of another type.
Checkpoint checkpoint_from(const nlohmann::json& json);

}  // namespace tessera::app
