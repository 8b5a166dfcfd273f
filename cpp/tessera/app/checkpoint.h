// The state that a run continues from, bit for bit and on any number of ranks.
//
// A checkpoint holds each atom's place at the last pair search, how far it has moved since, and its velocity, all in
// the engine's integers: the restarted run builds the same cells and the same list. File: a JSON header line, the
// arrays in id order, and their SHA-256. Two generations are kept: `checkpoint.tck` and `checkpoint.previous.tck`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/app/drift.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

struct Checkpoint {
  std::int64_t step = 0;
  std::int64_t last_search = 0;
  std::int64_t trajectory_frames = 0;
  Drift::State drift{};
  std::string simd;                             // bits are the same per instruction set
  nlohmann::json settings;                      // what decides bits: cut-offs, mesh, time step …
  std::vector<md::domain::Particle> particles;  // by id on the root, this rank's share elsewhere
};

/// The settings that decide the bits of a trajectory: a restart must have the same.
nlohmann::json bit_settings(const md::EngineSettings& settings, const model::System& system);

/// "interactions.cutoff was 9.0, is 10.0; …": what differs between a checkpoint's settings and a run's, those that
/// people set first; empty where nothing does.
std::string describe_differences(const nlohmann::json& checkpoint, const nlohmann::json& run);

/// Root only: writes the checkpoint whole or not at all, keeping the one before. Throws RunError.
void write_checkpoint(const std::string& folder, const Checkpoint& checkpoint);

/// Reads the newest good checkpoint of a folder; `note` says where an older one had to serve. Throws InputError where
/// there is none, or none is good.
Checkpoint read_checkpoint(const std::string& folder, std::string& note);

/// SHA-256 over positions and velocities in id order (particles of the root).
std::string state_hash(const std::vector<md::domain::Particle>& particles);

}  // namespace tessera::app
