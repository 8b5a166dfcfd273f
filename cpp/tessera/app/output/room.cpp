#include "tessera/app/output/room.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tessera/app/trajectory/settings.h"
#include "tessera/base/error.h"

namespace tessera::app {

namespace {

constexpr std::int64_t generations = 2;
constexpr std::int64_t usual_bytes_of_row = 450;  // 25 columns of up to 18 digits

/// The number of multiples of `every` after `step` up to `last`.
std::int64_t multiples(std::int64_t step, std::int64_t last, std::int64_t every) {
  return every > 0 ? std::max<std::int64_t>(0, last / every - step / every) : 0;
}

std::string size_text(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  return value < 1e9 ? fmt::format("{:.1f} MB", value / 1e6) : fmt::format("{:.1f} GB", value / 1e9);
}

}  // namespace

PlannedOutput plan_output(const RunConfig& config, const model::System& system, std::int64_t step,
                          std::int64_t bytes_of_checkpoint) {
  const auto& output = config.output;
  const auto last = config.dynamics.steps;
  PlannedOutput planned;
  planned.checkpoint = bytes_of_checkpoint;
  planned.rows = multiples(step, last, output.energy_every);
  planned.bytes_of_row = usual_bytes_of_row;
  for (const auto& one : trajectories_of(output)) {
    const auto frames = multiples(step, last, one.every);
    planned.frames += frames;
    planned.bytes_of_frames += frames * frame_bytes(one, atoms_of(one, config, system.n_atoms()).size());
  }
  return planned;
}

std::string check_room(const PlannedOutput& planned, std::int64_t available, std::int64_t kept,
                       const std::string& folder) {
  const auto for_checkpoints = std::max(planned.checkpoint, (generations + 1) * planned.checkpoint - kept);
  if (available < for_checkpoints)
    throw RunError(fmt::format(
        "the disk of {} has {} free, and checkpoints of this run need {} (two generations and the next, {} each): free "
        "some space or choose another output.folder",
        folder, size_text(available), size_text(for_checkpoints), size_text(planned.checkpoint)));
  const auto rest = planned.bytes_as_it_goes();
  if (available - for_checkpoints >= rest) return "";
  return fmt::format(
      "the disk of {} has {} free, and this run still writes about {}: {} frames ({}), {} rows and checkpoints of {}. "
      "It stops when the disk is full and keeps its checkpoints: free some space meanwhile, or go on with --restart",
      folder, size_text(available), size_text(for_checkpoints + rest), planned.frames,
      size_text(planned.bytes_of_frames), planned.rows, size_text(planned.checkpoint));
}

std::optional<std::int64_t> bytes_available(const std::string& folder) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error || space.available == static_cast<std::uintmax_t>(-1)) return std::nullopt;
  return static_cast<std::int64_t>(space.available);
}

}  // namespace tessera::app
