// Checkpoints of a run, the last at its end or where it is stopped.
#pragma once

#include <utility>

#include "tessera/app/observers/energies.h"

namespace tessera::app {

class CheckpointSaver final : public Observer {
 public:
  /// `files`: on the root, nothing elsewhere.
  CheckpointSaver(const OutputConfig& output, const EnergyRecorder& energies, const OutputFiles* files)
      : folder_(output.folder), every_(output.checkpoint_every), energies_(energies), files_(files) {}

  void after_step(Simulation& simulation) override {
    const auto step = simulation.current_step();
    if (!is_due(step, every_) && step != simulation.last_step() && !simulation.is_stopped()) return;
    Checkpoint checkpoint;
    checkpoint.averages = energies_.averages().state();
    if (files_) checkpoint.energy_rows = files_->n_rows(), checkpoint.trajectory_frames = files_->n_frames();
    simulation.save(folder_, std::move(checkpoint));
    on_root(simulation.comm(), [&] { files_->check_in_place(step); });
  }

 private:
  std::string folder_;
  std::int64_t every_;
  const EnergyRecorder& energies_;
  const OutputFiles* files_;
};

}  // namespace tessera::app
