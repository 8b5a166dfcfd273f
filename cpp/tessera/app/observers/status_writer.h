// Says in status.json how far a run is.
#pragma once

#include <chrono>
#include <cmath>
#include <optional>

#include "tessera/app/numbers_text.h"
#include "tessera/app/observers/balance.h"
#include "tessera/app/observers/energies.h"
#include "tessera/app/output/status_file.h"
#include "tessera/app/simulation.h"

namespace tessera::app {

/// Asks no other rank for anything. References must outlive it.
class StatusWriter final : public Observer {
 public:
  /// Writes no file where it is null, and no imbalance where there is no balancer.
  StatusWriter(StatusFile* file, const EnergyRecorder& energies, const std::optional<CellBalancer>& balancer)
      : file_(file), energies_(energies), balancer_(balancer) {}

  void start(Simulation&) override { start_ = std::chrono::steady_clock::now(); }
  /// Writes after the step's files, which are there when it says the first time that a step is done.
  void after_step(Simulation& simulation) override {
    if (file_ && file_->is_due()) file_->update([&] { return compose(simulation); });
  }
  void finish(Simulation& simulation) override {
    if (file_ && file_->is_writer()) file_->update([&] { return compose(simulation); });
  }

 private:
  nlohmann::json compose(Simulation& simulation) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const auto step = simulation.current_step(), last = simulation.last_step();
    const auto done = static_cast<double>(step - simulation.first_step());
    const double rate = seconds > 0 ? done / seconds : 0;
    const double timestep = simulation.config().dynamics.timestep;
    nlohmann::json status = {
        {"kind", "dynamics"},
        {"n_atoms", simulation.system().n_atoms()},
        {"ranks", simulation.comm().size()},
        {"threads", simulation.threads().size()},
        {"step", step},
        {"first_step", simulation.first_step()},
        {"last_step", last},
        {"time_ps", simulation.time()},
        {"timestep_ps", timestep},
        {"seconds", seconds},
        {"steps_per_second", rate},
        {"ns_per_day", ns_per_day(done * timestep, seconds)},
        {"seconds_left", rate > 0 ? nlohmann::json(static_cast<double>(last - step) / rate) : nlohmann::json(nullptr)},
        {"energies", energies_status()},
        {"drift", drift_status()},
        {"phases", phases_status(simulation)},
        {"imbalance", nullptr}};
    if (balancer_ && balancer_->history()) {
      const auto& history = *balancer_->history();
      status["imbalance"] = {{"first", history.first}, {"last", history.last}, {"moves", history.moves}};
    }
    return status;
  }

  nlohmann::json energies_status() const {
    const auto& found = energies_.last_sample();
    if (!found) return nullptr;
    const auto& [step, sample] = *found;
    return {{"step", step},
            {"potential", sample.potential},
            {"kinetic", sample.kinetic},
            {"total", sample.total()},
            {"conserved", sample.conserved},
            {"temperature", sample.temperature},
            {"pressure", sample.pressure},
            {"density", sample.density}};
  }
  nlohmann::json drift_status() const {
    const auto& averages = energies_.averages();
    if (!std::isfinite(averages.drift())) return nullptr;
    const double half_width = averages.drift_half_width();
    return {{"value", averages.drift()},
            {"half_width", std::isfinite(half_width) ? nlohmann::json(half_width) : nlohmann::json(nullptr)},
            {"confidence", Averages::confidence}};
  }
  /// Returns the time of each phase so far, on the root alone: to ask the other ranks would make them wait.
  static nlohmann::json phases_status(Simulation& simulation) {
    nlohmann::json phases = nlohmann::json::array();
    const auto seconds = simulation.timers().seconds();
    for (std::size_t p = 0; p < md::n_phases; ++p)
      if (seconds[p] > 0) phases.push_back({{"name", md::phase_names[p]}, {"seconds", seconds[p]}});
    return phases;
  }

  StatusFile* file_;
  const EnergyRecorder& energies_;
  const std::optional<CellBalancer>& balancer_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tessera::app
