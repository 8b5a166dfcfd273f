// Frames of a run's trajectories.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/app/simulation.h"
#include "tessera/app/trajectory/trajectory.h"

namespace tessera::app {

/// All members are collective, but those that are const.
class FrameRecorder final : public Observer {
 public:
  /// Plans the trajectories of a run that is about to start.
  void prepare(const Simulation& simulation) {
    for (auto& settings : trajectories_of(simulation.config().output))
      trajectories_.push_back(std::make_unique<Trajectory>(std::move(settings), simulation.config(),
                                                           simulation.system(), simulation.settings().machine_file,
                                                           simulation.comm()));
  }
  /// Begins the files of a new run.
  void begin() {
    for (auto& one : trajectories_) one->begin();
  }
  /// Continues the trajectories of a checkpoint that counts so many frames of each, by name. Returns a note for people.
  std::string go_on(std::int64_t step, const std::map<std::string, std::int64_t>& frames) {
    has_start_ = true;
    std::string notes;
    for (auto& one : trajectories_) {
      const auto counted = frames.find(one->settings().name);
      const auto note = one->go_on(step, counted == frames.end() ? std::nullopt : std::optional(counted->second));
      if (!note.empty()) notes += (notes.empty() ? "" : "; ") + note;
    }
    return notes;
  }

  void start(Simulation& simulation) override {
    if (has_start_) return;
    for (auto& one : trajectories_) one->record(simulation.engine());
  }
  void after_step(Simulation& simulation) override {
    for (auto& one : trajectories_)
      if (is_due(simulation.current_step(), one->settings().every)) one->record(simulation.engine());
  }

  /// Waits until all frames are on the disk.
  void synchronize() {
    for (auto& one : trajectories_) one->synchronize();
  }
  /// Counts the frames that each trajectory holds, by name. On the root.
  std::map<std::string, std::int64_t> n_frames() const {
    std::map<std::string, std::int64_t> found;
    for (const auto& one : trajectories_) found[one->settings().name] = one->n_frames();
    return found;
  }
  /// Returns the path of a trajectory of which a file that this rank writes was removed, moved or replaced; empty:
  /// none.
  std::string lost_path() const {
    for (const auto& one : trajectories_)
      if (!one->is_in_place()) return one->settings().path;
    return "";
  }

 private:
  std::vector<std::unique_ptr<Trajectory>> trajectories_;  // the main one first
  bool has_start_ = false;
};

}  // namespace tessera::app
