// Ends a run in good order when a signal asks for it.
#pragma once

#include "tessera/app/simulation.h"
#include "tessera/comm/stop_signal.h"

namespace tessera::app {

class StopListener final : public Observer {
 public:
  /// Returns the signal that has stopped the run; 0: none.
  int signal() const { return signal_; }

  /// Stops the run after a signal, which may reach one rank alone: so ranks ask each other, but not at every step.
  void after_step(Simulation& simulation) override {
    constexpr std::int64_t ask_every = 5;
    const auto step = simulation.current_step();
    if (is_due(step, ask_every) && step < simulation.last_step()) signal_ = comm::agreed_stop_signal(simulation.comm());
    if (signal_ != 0) simulation.stop();
  }

 private:
  int signal_ = 0;
};

}  // namespace tessera::app
