// Frames of a run's trajectory.
#pragma once

#include <optional>
#include <string>

#include "tessera/app/simulation.h"
#include "tessera/app/trajectory/trajectory.h"

namespace tessera::app {

/// All members are collective, but those that are const.
class FrameRecorder final : public Observer {
 public:
  explicit FrameRecorder(const OutputConfig& output)
      : every_(Trajectory::path(output).empty() ? 0 : output.trajectory_every) {}

  /// Plans the trajectory of a run that is about to start.
  void prepare(const Simulation& simulation) {
    trajectory_.emplace(simulation.config(), simulation.system(), simulation.settings().machine_file,
                        simulation.comm());
  }
  /// Begins the files of a new run.
  void begin() { trajectory_->begin(); }
  /// Goes on from a checkpoint, see Trajectory::go_on.
  std::string go_on(std::int64_t step, std::int64_t frames) {
    has_start_ = true;
    return trajectory_->go_on(step, frames);
  }

  void start(Simulation& simulation) override {
    if (every_ > 0 && !has_start_) trajectory_->record(simulation.engine());
  }
  void after_step(Simulation& simulation) override {
    if (is_due(simulation.current_step(), every_)) trajectory_->record(simulation.engine());
  }

  Trajectory& trajectory() { return *trajectory_; }

 private:
  std::int64_t every_;
  std::optional<Trajectory> trajectory_;
  bool has_start_ = false;
};

}  // namespace tessera::app
