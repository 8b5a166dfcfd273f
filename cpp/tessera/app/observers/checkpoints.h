// Checkpoints of a run, the last at its end or where it is stopped.
#pragma once

#include <chrono>
#include <utility>

#include "tessera/app/observers/energies.h"
#include "tessera/app/observers/wall_clock.h"

namespace tessera::app {

class CheckpointSaver final : public Observer {
 public:
  /// `files`: on the root, nothing elsewhere.
  CheckpointSaver(const OutputConfig& output, const EnergyRecorder& energies, WallClock& clock,
                  const OutputFiles* files)
      : folder_(output.folder), every_(output.checkpoint_every), energies_(energies), clock_(clock), files_(files) {}

  void after_step(Simulation& simulation) override {
    const auto step = simulation.current_step();
    if (!is_due(step, every_) && !clock_.wants_checkpoint() && step != simulation.last_step() &&
        !simulation.is_stopped())
      return;
    const auto begin = std::chrono::steady_clock::now();
    Checkpoint checkpoint;
    checkpoint.averages = energies_.averages().state();
    if (files_) checkpoint.energy_rows = files_->n_rows(), checkpoint.trajectory_frames = files_->n_frames();
    simulation.save(folder_, std::move(checkpoint));
    on_root(simulation.comm(), [&] { files_->check_in_place(step); });
    clock_.wrote_checkpoint(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

 private:
  std::string folder_;
  std::int64_t every_;
  const EnergyRecorder& energies_;
  WallClock& clock_;
  const OutputFiles* files_;
};

}  // namespace tessera::app
