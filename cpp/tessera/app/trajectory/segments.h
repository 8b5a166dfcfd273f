// Trajectories in segments: several ranks write parts side by side on helper threads, and the root an entry for each
// frame that is whole (docs/reference/trajectory.md).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/trajectory/exchange.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trajectory/sink.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/segments/manifest.h"
#include "tessera/io/segments/part_writer.h"

namespace tessera::app {

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
  std::optional<io::segments::ManifestWriter> manifest_;       // on the root
  std::deque<io::segments::Entry> unfinished_;                 // on the root: frames without an entry yet
  std::vector<std::deque<io::segments::Payload>> of_writers_;  // on the root: what they have written of these
  std::unique_ptr<io::segments::PartWriter> part_;             // on a writer
};

}  // namespace tessera::app
