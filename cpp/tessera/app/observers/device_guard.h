// Ends a run with a checkpoint after a GPU has failed.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "tessera/app/simulation.h"
#include "tessera/comm/communicator.h"

namespace tessera::app {

class DeviceGuard final : public Observer {
 public:
  /// Returns what happened to this rank's GPU; empty where nothing has stopped the run.
  const std::string& problem() const { return problem_; }

  /// Stops the run once the GPU of any rank has failed; no step is lost, as processors did what it should have.
  void after_step(Simulation& simulation) override {
    constexpr std::int64_t ask_every = 5;
    if (!is_due(simulation.current_step(), ask_every) || simulation.current_step() == simulation.last_step()) return;
    const auto& error = simulation.device_error();
    if (comm::all_reduce_max(simulation.comm(), std::int64_t{!error.empty()}) == 0) return;
    simulation.stop();
    if (!error.empty())
      problem_ = fmt::format(
          "{}; stopped at step {} (parallel.on_device_error = \"stop\"): its checkpoint is written, go on with "
          "--restart, by the CPU with --device cpu",
          error, simulation.current_step());
  }

 private:
  std::string problem_;
};

}  // namespace tessera::app
