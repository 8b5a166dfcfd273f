// Trajectories as DL_POLY's HISTORY, which ranks write by a method of the registry (io/write).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/app/trajectory/exchange.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/app/trajectory/sink.h"
#include "tessera/app/trajectory/writers.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/write/frame_file.h"
#include "tessera/model/system.h"

namespace tessera::app {

class HistorySink final : public FrameSink {
 public:
  /// Begins a file, or goes on after its first `frames` frames where that is given and the file is there. `system`
  /// and `comm` must outlive it. `timestep` is in ps. Throws InputError, RunError. Collective.
  HistorySink(const TrajectorySettings& settings, const model::System& system, const FrameExchange& exchange,
              const io::write::Choice& method, double timestep, std::optional<std::int64_t> frames,
              const comm::Communicator& comm);

  void append(Frame frame) override;
  void synchronize() override { file_->synchronize(); }
  std::int64_t n_frames() const override { return file_->n_frames(); }
  bool is_in_place() const override { return file_->is_in_place(); }

 private:
  void set_cell(const Box& box);
  void set_owned(const std::vector<Frame::Owned>& owned);

  const model::System& system_;
  std::vector<std::int64_t> first_species_;  // of each template
  bool is_as_owned_, is_periodic_;
  io::write::Frame frame_;
  io::write::AtomRows atoms_;  // of this rank's rows
  std::optional<io::write::FrameFile> file_;
};

}  // namespace tessera::app
