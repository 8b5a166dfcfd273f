#include "tessera/app/trajectory/writers.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "tessera/io/write/choose.h"

namespace tessera::app {

namespace {

constexpr std::int64_t bytes_of_writer = 4 << 20;  // of a frame, less of which is not worth a writer of its own
constexpr int most_xtc_writers = 8;                // each holds whole frames

std::optional<machine::FileSystem> file_system_of_output(const OutputConfig& output, const std::string& machine_file) {
  return io::write::file_system_of(machine_file, std::filesystem::absolute(output.folder).lexically_normal().string());
}

}  // namespace

int plan_writers(const TrajectorySettings& settings, const OutputConfig& output, const std::string& machine_file,
                 std::int64_t atoms_of_frame, int ranks) {
  const int most = settings.format->takes_turns ? std::min(ranks, most_xtc_writers) : ranks;
  if (output.writers > 0) return static_cast<int>(std::min<std::int64_t>(most, output.writers));
  if (settings.is_as_owned) return ranks;  // each its own
  auto n = std::clamp<std::int64_t>(frame_bytes(settings, atoms_of_frame) / bytes_of_writer, 1,
                                    std::min<std::int64_t>(most, most_parts));
  // Where whole frames are made in turn, one rank writes them all: the file system does not tell how many make them.
  if (n == 1 || settings.format->takes_turns) return static_cast<int>(n);
  if (settings.format->written_as != nullptr) {
    const auto measured = plan_method(settings, output, machine_file, atoms_of_frame, ranks).options.writers;
    // One rank may write what others make.
    if (measured > 1) n = std::min<std::int64_t>(n, measured);
  } else if (const auto system = file_system_of_output(output, machine_file)) {
    n = std::min<std::int64_t>(n, io::write::writers_of_segments(*system, ranks));
  }
  return static_cast<int>(n);
}

io::write::Choice plan_method(const TrajectorySettings& settings, const OutputConfig& output,
                              const std::string& machine_file, std::int64_t atoms_of_frame, int ranks) {
  namespace write = io::write;
  write::WriteProblem problem;
  for (int rank = 0; rank < ranks; ++rank) {
    problem.hosts.push_back(0);
    problem.owned.push_back(atoms_of_frame / ranks + (rank < atoms_of_frame % ranks ? 1 : 0));
  }
  const auto& format = settings.format->written_as(settings.contents);
  problem.atom_bytes = format.atom_bytes;
  const auto system = file_system_of_output(output, machine_file);
  const auto order = settings.is_as_owned ? write::Order::owned : write::Order::sorted;
  auto found = write::choose(write::methods(), problem, format, order, system ? &*system : nullptr);
  if (output.method != "auto") found.method = &write::method(output.method);
  if (output.batch > 0) found.options.batch = output.batch;
  if (output.writers > 0 && settings.is_as_owned)
    found.options.writers = static_cast<int>(std::min<std::int64_t>(ranks, output.writers));
  return found;
}

std::int64_t planned_frame_memory(const TrajectorySettings& settings, std::int64_t atoms_of_frame, int writers) {
  constexpr std::int64_t index_bytes = 4, fraction_bytes = 12;
  const std::int64_t rows = settings.format->takes_turns ? atoms_of_frame : (atoms_of_frame + writers - 1) / writers;
  const std::int64_t row = 12 * settings.contents.n_quantities();
  // What arrives, the fractions in order, the rows that are made of them, and the rows that are being written.
  const std::int64_t making = rows * (index_bytes + row + fraction_bytes + 2 * row);
  if (settings.format->written_as != nullptr) {
    const io::write::WriteOptions usual;
    return making +
           rows *
               static_cast<std::int64_t>(io::write::row_bytes(settings.format->written_as(settings.contents).level)) +
           usual.buffer;
  }
  // The root has a compressed frame of each writer until the frames before it are written.
  return making + (settings.format->takes_turns ? writers * frame_bytes(settings, atoms_of_frame) : 0);
}

}  // namespace tessera::app
