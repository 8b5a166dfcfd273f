// Whether the disk has room for what a run is going to write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// What a run still writes from a step on, in bytes.
struct PlannedOutput {
  struct Trajectory {
    std::string name;
    std::int64_t frames = 0, bytes = 0;
  };
  std::int64_t checkpoint = 0;  // one of them
  std::vector<Trajectory> trajectories{};
  std::int64_t rows = 0, bytes_of_row = 0;  // of energy.csv

  std::int64_t frames() const;
  std::int64_t bytes_of_frames() const;
  std::int64_t bytes_as_it_goes() const { return bytes_of_frames() + rows * bytes_of_row; }
  /// Returns what checkpoints need: two generations and the next, of which those that are `kept` are there.
  std::int64_t bytes_of_checkpoints(std::int64_t kept = 0) const;
};

/// Predicts the output of a run. `after_step`: the last step that the files hold; −1: none. Frames of a compressed
/// trajectory count with a usual size.
PlannedOutput plan_output(const RunConfig& config, const model::System& system, std::int64_t after_step,
                          std::int64_t bytes_of_checkpoint);

/// What can still be written into a folder, and what bounds it.
struct Room {
  std::int64_t bytes = 0;
  bool is_of_quota = false;  // otherwise of the disk

  /// Returns a text such as "the disk of run has 12.3 GB free".
  std::string text(const std::string& folder) const;
};

/// What an account or a group may have on a disk, in bytes.
struct Quota {
  std::int64_t limit = 0, used = 0;
};

/// Compares planned output with what can be written. `kept`: bytes of the checkpoints in the folder that later ones take
/// the place of. Throws RunError where two generations and the next checkpoint don't fit. Returns a note where the rest
/// of the output does not; otherwise an empty text.
std::string check_room(const PlannedOutput& planned, const Room& room, std::int64_t kept, const std::string& folder);

/// Returns the least of what is free on a disk and what quotas leave.
Room least_room(std::int64_t free, const std::vector<Quota>& quotas);

/// Returns the quotas of this account and its group on the disk of a folder, of those that the kernel knows (quotactl_fd,
/// Linux 5.14); file systems over a network have others.
std::vector<Quota> quotas_of(const std::string& folder);

/// Returns what this account can write on the disk of a folder; nothing where the system does not say.
std::optional<Room> room_in(const std::string& folder);

}  // namespace tessera::app
