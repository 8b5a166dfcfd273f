// Energies of a run: averages, and rows of energy.csv.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tessera/app/observers/averages.h"
#include "tessera/app/output/energy_columns.h"
#include "tessera/app/output/output_files.h"
#include "tessera/app/simulation.h"
#include "tessera/comm/on_root.h"

namespace tessera::app {

class EnergyRecorder final : public Observer {
 public:
  /// Records every `every` steps. `files`: on the root, nothing elsewhere.
  EnergyRecorder(std::int64_t every, OutputFiles* files) : every_(every), files_(files) {}
  /// Continues the averages of a restart, whose start has been sampled.
  void go_on_from(const Averages::State& state) { averages_.emplace(state); }
  const Averages& averages() const { return *averages_; }
  /// Returns the last sample and its step; nothing before the first of a restart.
  const std::optional<std::pair<std::int64_t, Sample>>& last_sample() const { return last_sample_; }
  /// Returns what a restart goes on with. What is recorded only because the run ends is left out, so that a run that
  /// goes on writes the table of one that was never interrupted.
  const Averages& averages_of_restart() const { return before_end_ ? *before_end_ : *averages_; }
  std::int64_t rows_of_restart() const { return files_->n_rows() - (before_end_ ? 1 : 0); }  // on the root

  void start(Simulation& simulation) override {
    if (averages_) return;
    averages_.emplace(simulation.engine().degrees_of_freedom());
    record(simulation);
  }
  bool needs_energies(std::int64_t step) const override { return is_due(step, every_); }
  void after_step(Simulation& simulation) override {
    const auto step = simulation.current_step();
    const bool is_due_now = is_due(step, every_);
    if (!is_due_now && step != simulation.last_step()) return;
    if (!is_due_now) before_end_ = averages_;
    record(simulation);
  }

 private:
  void record(const Simulation& simulation) {
    const auto& e = simulation.energies();
    const Sample sample{simulation.time(), e.potential(), e.kinetic, e.temperature, e.pressure, e.density, e.conserved};
    averages_->add(sample);
    last_sample_.emplace(simulation.current_step(), sample);
    on_root(simulation.comm(), [&] {
      auto row = energy_values(e, simulation.system().box);
      row.push_back(averages_->drift());
      files_->add_row(simulation.current_step(), row);
    });
  }

  std::int64_t every_;
  OutputFiles* files_;
  std::optional<Averages> averages_;
  std::optional<std::pair<std::int64_t, Sample>> last_sample_;
  std::optional<Averages> before_end_;  // where the run has ended between two rows
};

}  // namespace tessera::app
