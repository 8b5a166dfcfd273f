#include "tessera/app/output/room.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/quota.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "tessera/app/numbers_text.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/base/error.h"

namespace tessera::app {

namespace {

constexpr std::int64_t generations = 2;
constexpr std::int64_t usual_bytes_of_row = 450;  // 25 columns of up to 18 digits

/// Counts the multiples of `every` after `step` up to `last`; after −1 the first is 0.
std::int64_t multiples(std::int64_t step, std::int64_t last, std::int64_t every) {
  if (every <= 0) return 0;
  return std::max<std::int64_t>(0, last / every - (step < 0 ? -1 : step / every));
}

}  // namespace

std::int64_t PlannedOutput::frames() const {
  std::int64_t sum = 0;
  for (const auto& one : trajectories) sum += one.frames;
  return sum;
}

std::int64_t PlannedOutput::bytes_of_frames() const {
  std::int64_t sum = 0;
  for (const auto& one : trajectories) sum += one.bytes;
  return sum;
}

PlannedOutput plan_output(const RunConfig& config, const model::System& system, std::int64_t after_step,
                          std::int64_t bytes_of_checkpoint) {
  const auto& output = config.output;
  const auto last = config.dynamics.steps;
  PlannedOutput planned;
  planned.checkpoint = bytes_of_checkpoint;
  planned.rows = multiples(after_step, last, output.energy_every);
  planned.bytes_of_row = usual_bytes_of_row;
  for (const auto& one : trajectories_of(output)) {
    const auto frames = multiples(after_step, last, one.every);
    const auto atoms = atoms_of(one, config, system.n_atoms()).size();
    const auto bytes_of_frame = one.format->frame_bytes(one, atoms, system.is_periodic);
    constexpr auto most = std::numeric_limits<std::int64_t>::max() / 16;
    const auto bytes = frames > most / bytes_of_frame ? most : frames * bytes_of_frame;
    planned.trajectories.push_back({one.name, frames, one.format->header_bytes + bytes});
  }
  return planned;
}

std::int64_t PlannedOutput::bytes_of_checkpoints(std::int64_t kept) const {
  return std::max(checkpoint, (generations + 1) * checkpoint - kept);
}

std::string Room::text(const std::string& folder) const {
  return is_of_quota ? fmt::format("the quota on the disk of {} leaves {}", folder, size_text(bytes))
                     : fmt::format("the disk of {} has {} free", folder, size_text(bytes));
}

std::string check_room(const PlannedOutput& planned, const Room& room, std::int64_t kept, const std::string& folder) {
  const auto for_checkpoints = planned.bytes_of_checkpoints(kept);
  if (room.bytes < for_checkpoints)
    throw RunError(fmt::format(
        "{}, and checkpoints of this run need {} (two generations and the next, {} each): free some space or choose "
        "another output.folder",
        room.text(folder), size_text(for_checkpoints), size_text(planned.checkpoint)));
  const auto rest = planned.bytes_as_it_goes();
  if (room.bytes - for_checkpoints >= rest) return "";
  return fmt::format(
      "{}, and this run still writes about {}: {} frames ({}), {} rows and checkpoints of {}. "
      "It stops when the disk is full and keeps its checkpoints: free some space meanwhile, or go on from them later "
      "(--restart, in Python restore)",
      room.text(folder), size_text(for_checkpoints + rest), planned.frames(), size_text(planned.bytes_of_frames()),
      planned.rows, size_text(planned.checkpoint));
}

Room least_room(std::int64_t free, const std::vector<Quota>& quotas) {
  Room room{free};
  for (const auto& [limit, used] : quotas)
    if (const auto left = std::max<std::int64_t>(0, limit - used); left < room.bytes) room = {left, true};
  return room;
}

std::vector<Quota> quotas_of(const std::string& folder) {
  std::vector<Quota> quotas;
#ifdef SYS_quotactl_fd
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return quotas;
  constexpr std::int64_t block = 1024;  // bytes
  for (const auto& [kind, id] : {std::pair{USRQUOTA, getuid()}, std::pair{GRPQUOTA, getgid()}}) {
    dqblk found{};
    if (syscall(SYS_quotactl_fd, file, QCMD(Q_GETQUOTA, kind), id, &found) != 0) continue;  // none, or not told
    // Beyond a soft limit one may write for some days.
    const auto limit = found.dqb_bhardlimit > 0 ? found.dqb_bhardlimit : found.dqb_bsoftlimit;
    if (limit > 0)
      quotas.push_back({static_cast<std::int64_t>(limit) * block, static_cast<std::int64_t>(found.dqb_curspace)});
  }
  close(file);
#endif
  return quotas;
}

std::optional<Room> room_in(const std::string& folder) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error || space.available == static_cast<std::uintmax_t>(-1)) return std::nullopt;
  return least_room(static_cast<std::int64_t>(space.available), quotas_of(folder));
}

}  // namespace tessera::app
