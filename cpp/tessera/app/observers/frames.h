// Frames of a run's trajectory.
#pragma once

#include <utility>

#include "tessera/app/gather.h"
#include "tessera/app/output/output_files.h"
#include "tessera/app/simulation.h"
#include "tessera/comm/on_root.h"

namespace tessera::app {

class FrameRecorder final : public Observer {
 public:
  /// `files`: on the root, nothing elsewhere.
  FrameRecorder(const OutputConfig& output, OutputFiles* files)
      : every_(Trajectory::path(output).empty() ? 0 : output.trajectory_every), files_(files) {}
  /// A restart: the frame of the start has been written.
  void go_on() { has_start_ = true; }

  void start(Simulation& simulation) override {
    if (every_ > 0 && !has_start_) record(simulation);
  }
  void after_step(Simulation& simulation) override {
    if (is_due(simulation.current_step(), every_)) record(simulation);
  }

 private:
  void record(const Simulation& simulation) {
    auto state = gather_state(simulation.engine(), simulation.comm());
    on_root(simulation.comm(), [&] { files_->add_frame(simulation.current_step(), std::move(state)); });
  }

  std::int64_t every_;
  OutputFiles* files_;
  bool has_start_ = false;
};

}  // namespace tessera::app
