// Trajectories in segments: several ranks write parts side by side on helper threads, and the root an entry for each
// frame that is whole (docs/reference/trajectory.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/app/trajectory/settings.h"
#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/base/math/elementary.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/segments/manifest.h"
#include "tessera/io/segments/part_writer.h"

namespace tessera::app {

namespace segments = io::segments;

namespace {

class SegmentSink final : public FrameSink {
 public:
  /// Begins a segment in the folder of a run's trajectory, which it makes, behind `earlier_frames` frames. References
  /// must outlive it. Throws RunError. Collective.
  SegmentSink(const TrajectorySettings& settings, const RunConfig& config, const model::System& system,
              const FrameExchange& exchange, std::int64_t after_step, std::int64_t earlier_frames,
              const comm::Communicator& comm);

  void append(Frame frame) override;
  void synchronize() override;
  std::int64_t n_frames() const override { return n_frames_; }
  bool is_in_place() const override;

 private:
  void add_entries();

  const comm::Communicator& comm_;
  std::vector<int> writers_;
  FrameContents contents_;
  std::int64_t n_frames_;
  std::optional<segments::ManifestWriter> manifest_;       // on the root
  std::deque<segments::Entry> unfinished_;                 // on the root: frames without an entry yet
  std::vector<std::deque<segments::Payload>> of_writers_;  // on the root: what they have written of these
  std::unique_ptr<segments::PartWriter> part_;             // on a writer
};
/// Describes a set of atoms as ranges of equal lengths and distances: the hydrogens of a million waters are one.
std::vector<segments::Header::Ids> ids_of(const model::AtomSet& atoms) {
  std::vector<segments::Header::Ids> found;
  for (const auto& [first, last] : atoms.ranges()) {
    const auto length = last - first + 1;
    if (!found.empty()) {
      auto& [begin, same_length, stride, count] = found.back();
      if (same_length == length && (count == 1 || first == begin + count * stride)) {
        stride = (first - begin) / count;
        ++count;
        continue;
      }
    }
    found.push_back({first, length, length, 1});
  }
  return found;
}

segments::Encoding encoding_of(const TrajectorySettings& settings, bool is_position) {
  using segments::EncodingKind;
  if (settings.moved > 0) return {.kind = EncodingKind::moved, .distance = settings.moved};
  const auto& contents = settings.contents;
  if (contents.compression == Compression::none) return {};
  if (contents.compression == Compression::rounded && is_position)
    return {.kind = EncodingKind::packed, .unit = contents.precision};
  return {.kind = EncodingKind::lossless};
}

SegmentSink::SegmentSink(const TrajectorySettings& settings, const RunConfig& config, const model::System& system,
                         const FrameExchange& exchange, std::int64_t after_step, std::int64_t earlier_frames,
                         const comm::Communicator& comm)
    : comm_(comm), writers_(exchange.writers()), contents_(exchange.contents()), n_frames_(earlier_frames) {
  const auto& folder = settings.path;
  segments::Header header{.n_atoms = exchange.shares().atoms().size(),
                          .system_atoms = system.n_atoms(),
                          .ids = {},
                          .quantities = {"positions"},
                          .encodings = {encoding_of(settings, true)},
                          .parts = {},
                          .after_step = after_step,
                          .every = settings.every,
                          .timestep = config.dynamics.timestep,
                          .is_whole = config.output.wrap,
                          .is_periodic = system.is_periodic,
                          .program = fmt::format("tessera {}", TESSERA_VERSION)};
  for (const auto& [is_there, name] :
       {std::pair(contents_.velocities, "velocities"), std::pair(contents_.forces, "forces")})
    if (is_there) {
      header.quantities.emplace_back(name);
      header.encodings.push_back(encoding_of(settings, false));
    }
  std::int64_t number = 0;
  comm::on_root(comm, [&] {
    make_folder(folder);
    number = segments::read_folder(folder).next_number;
  });
  comm.broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  const auto segment = static_cast<int>(number);
  for (int share = 0; share < exchange.shares().n_shares(); ++share)
    header.parts.push_back(
        {segments::part_name(segment, share), exchange.shares().first_row(share), exchange.shares().n_rows(share)});
  comm::on_each_rank(comm, [&] {
    const auto own = exchange.own_share();
    if (own < 0) return;
    const auto frame = 12 * exchange.shares().n_rows(own) * contents_.n_quantities();
    part_ = std::make_unique<segments::PartWriter>(folder + "/" + header.parts[static_cast<std::size_t>(own)].file,
                                                   header.encodings, std::max(most_bytes_held, 2 * frame));
  });
  // The manifest comes last, so that one that is there has its parts.
  comm::on_root(comm, [&] {
    header.ids = ids_of(exchange.shares().atoms());
    manifest_.emplace(segments::ManifestWriter::create(folder + "/" + segments::manifest_name(segment), header));
    synchronize_folder(folder);
    of_writers_.resize(writers_.size());
  });
}

void SegmentSink::append(Frame frame) {
  if (comm_.is_root()) {
    segments::Entry entry{.step = frame.step, .time = frame.time, .box = {}, .payloads = {}};
    auto* to = entry.box.data();
    for (const auto& edge : {frame.box.a(), frame.box.b(), frame.box.c()})
      for (const auto value : {edge.x, edge.y, edge.z}) *to++ = value;
    unfinished_.push_back(std::move(entry));
    ++n_frames_;
  }
  comm::on_each_rank(comm_, [&] {
    if (!part_) return;
    std::vector<std::vector<float>> quantities;
    quantities.push_back(std::move(frame.positions));
    if (contents_.velocities) quantities.push_back(std::move(frame.velocities));
    if (contents_.forces) quantities.push_back(std::move(frame.forces));
    part_->append(std::move(quantities));
  });
  add_entries();
}

void SegmentSink::synchronize() {
  comm::on_each_rank(comm_, [&] {
    if (part_) part_->synchronize();
  });
  add_entries();
  comm::on_root(comm_, [&] {
    TESSERA_CHECK(unfinished_.empty());
    manifest_->synchronize();
  });
}

/// Adds the entries of frames that all writers have written.
void SegmentSink::add_entries() {
  const auto own = part_ ? part_->take_written() : std::vector<segments::Payload>{};
  const auto gathered = comm_.gather(comm::bytes_of(own), 0);
  comm::on_root(comm_, [&] {
    for (std::size_t w = 0; w < writers_.size(); ++w) {
      const auto written = comm::values_of<segments::Payload>(gathered[static_cast<std::size_t>(writers_[w])]);
      of_writers_[w].insert(of_writers_[w].end(), written.begin(), written.end());
    }
    const auto of_frame = contents_.n_quantities();
    const auto is_written = [&](const auto& payloads) { return std::ssize(payloads) >= of_frame; };
    while (!unfinished_.empty() && std::all_of(of_writers_.begin(), of_writers_.end(), is_written)) {
      auto& entry = unfinished_.front();
      for (auto& payloads : of_writers_) {
        const auto end = payloads.begin() + of_frame;
        entry.payloads.insert(entry.payloads.end(), payloads.begin(), end);
        payloads.erase(payloads.begin(), end);
      }
      manifest_->append(entry);
      unfinished_.pop_front();
    }
  });
}

bool SegmentSink::is_in_place() const {
  return (!part_ || part_->is_in_place()) && (!manifest_ || manifest_->is_in_place());
}

/// Returns the bytes of an atom in a frame, as they are for proteins in water.
double bytes_of_atom(const TrajectorySettings& settings) {
  constexpr double of_vector = 12, lossless_positions = 9.1, lossless_others = 10.5, at_hundredth = 3.25;
  const auto& contents = settings.contents;
  if (contents.compression == Compression::none || settings.moved > 0)
    return of_vector * static_cast<double>(contents.n_quantities());
  // A digit more of each coordinate takes a byte of the three.
  const double positions =
      contents.compression == Compression::rounded
          ? std::clamp(at_hundredth - math::log(contents.precision / 0.01) / math::log(10), 1.0, of_vector)
          : lossless_positions;
  return positions + lossless_others * static_cast<double>(contents.n_quantities() - 1);
}

/// Returns the bytes of a whole frame, also where frames hold what has moved.
std::int64_t segments_frame_bytes(const TrajectorySettings& settings, std::int64_t n_atoms, bool /*is_periodic*/) {
  return std::llround(bytes_of_atom(settings) * static_cast<double>(n_atoms)) + 104 +
         24 * settings.contents.n_quantities();
}

/// Opens the files: a new run has the frame of its start, and a restart only those behind it.
std::unique_ptr<FrameSink> open_segments(const Opening& o) {
  return std::make_unique<SegmentSink>(o.settings, o.config, o.system, o.exchange,
                                       o.frames ? o.first_step : o.first_step - 1, o.frames.value_or(0), o.comm);
}

}  // namespace

extern constinit const TrajectoryFormat segments_format = {.name = "segments",
                                                           .method = "segments",
                                                           .is_folder = true,
                                                           .has_velocities = true,
                                                           .has_forces = true,
                                                           .is_compressed = true,
                                                           .frame_bytes = segments_frame_bytes,
                                                           .open = open_segments};

}  // namespace tessera::app
