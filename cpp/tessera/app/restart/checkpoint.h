// The state that a run continues from, bit for bit and on any number of ranks.
//
// A checkpoint holds each atom's place at the last pair search, how far it has moved since, and its velocity, all in
// the engine's integers: the restarted run builds the same cells and the same list. File: a JSON header line, the
// arrays in id order, and their SHA-256. Two generations are kept: `checkpoint.tck` and `checkpoint.previous.tck`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tessera/app/averages.h"
#include "tessera/app/config/run_config.h"
#include "tessera/base/atomic_file.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/checksum.h"
#include "tessera/md/engine.h"

namespace tessera::app {

struct Checkpoint {
  std::int64_t step = 0;
  std::int64_t last_search = 0;
  std::int64_t energy_rows = 0;
  std::int64_t trajectory_frames = 0;
  Averages::State averages{};
  std::string simd;                             // bits are the same per instruction set
  nlohmann::json settings;                      // what decides bits: the system, cut-offs, mesh, time step …
  nlohmann::json start;                         // what decided how the run began
  std::vector<md::domain::Particle> particles;  // of one that was read: by id on the root, nothing elsewhere
};

/// The settings that decide the bits of a trajectory, the system's content among them: a restart must have the same.
nlohmann::json bit_settings(const md::EngineSettings& settings, const nlohmann::json& fingerprint);

/// The settings that only the start of a run looks at.
nlohmann::json start_settings(const DynamicsConfig& dynamics);

/// "interactions.cutoff was 9.0, is 10.0; …": what differs between a checkpoint's settings and a run's, those that
/// people set first; empty where nothing does.
std::string describe_differences(const nlohmann::json& checkpoint, const nlohmann::json& run);

/// Root only: writes a checkpoint whole or not at all, keeping the one before. Its atoms come piece by piece, so that
/// they need not all be in memory at once. Throws RunError.
class CheckpointWriter {
 public:
  /// All of the checkpoint but its particles.
  CheckpointWriter(const std::string& folder, const Checkpoint& checkpoint, std::int64_t n_atoms);
  /// The next atoms in id order.
  void append(std::span<const md::domain::Particle> particles);
  /// Puts it in its place.
  void finish();

 private:
  std::string folder_;
  AtomicFile file_;
  io::Checksum sum_;
};

/// Reads the newest good checkpoint of a folder; `note` says where an older one had to serve. Throws InputError where
/// there is none, or none is good.
Checkpoint read_checkpoint(const std::string& folder, std::string& note);

/// Adds positions and velocities, in id order, to a hash of the state.
void add_state(std::span<const md::domain::Particle> particles, io::Checksum& hash);

}  // namespace tessera::app
