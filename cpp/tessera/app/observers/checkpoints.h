// Checkpoints of a run, the last at its end or where it is stopped.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "tessera/app/observers/energies.h"
#include "tessera/app/observers/frames.h"
#include "tessera/app/observers/wall_clock.h"
#include "tessera/comm/job.h"

namespace tessera::app {

class CheckpointSaver final : public Observer {
 public:
  /// Keeps references, which must outlive it. `files`: on the root, nothing elsewhere.
  CheckpointSaver(const OutputConfig& output, const EnergyRecorder& energies, FrameRecorder& frames, WallClock& clock,
                  const OutputFiles* files)
      : output_(output), energies_(energies), frames_(frames), clock_(clock), files_(files) {}

  /// Takes room on the disk for the next checkpoint, so that a disk that fills up does not cost it. Throws RunError.
  /// Collective.
  void reserve(Simulation& simulation, std::int64_t bytes) {
    bytes_ = bytes;
    writer_.emplace(output_.folder, simulation.comm()).reserve(bytes);
  }

  void after_step(Simulation& simulation) override {
    const auto step = simulation.current_step();
    if (!is_due(step, output_.checkpoint_every) && !clock_.wants_checkpoint() && step != simulation.last_step() &&
        !simulation.is_stopped())
      return;
    const auto begin = std::chrono::steady_clock::now();
    frames_.synchronize();
    Checkpoint checkpoint;
    checkpoint.averages = energies_.averages_of_restart().state();
    if (files_) checkpoint.energy_rows = energies_.rows_of_restart(), checkpoint.frames = frames_.n_frames();
    simulation.save(*writer_, std::move(checkpoint));
    comm::on_root(simulation.comm(), [&] {
      files_->check_in_place(step);
      if (const auto note = files_->restore_settings(); !note.empty()) comm::print_note("tessera-md", note);
    });
    comm::on_each_rank(simulation.comm(), [&] {
      if (const auto path = frames_.lost_path(); !path.empty()) throw RunError(text_of_lost_file(path, step));
    });
    if (step != simulation.last_step() && !simulation.is_stopped()) {
      try {
        writer_->reserve(bytes_);
      } catch (const RunError&) {
        // The disk is full now; the next checkpoint says so if it still is.
      }
    }
    clock_.wrote_checkpoint(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

 private:
  const OutputConfig& output_;
  const EnergyRecorder& energies_;
  FrameRecorder& frames_;
  WallClock& clock_;
  const OutputFiles* files_;
  std::optional<CheckpointWriter> writer_;
  std::int64_t bytes_ = 0;  // of a checkpoint
};

}  // namespace tessera::app
