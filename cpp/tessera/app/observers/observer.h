// What watches a simulation while it runs.
#pragma once

#include <cstdint>

namespace tessera::app {

class Simulation;

/// Every member is called on all ranks alike and may be collective.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Runs before the first step of Simulation::run().
  virtual void start(Simulation&) {}
  /// Returns whether the energies of this step, which is to come, have to be summed.
  virtual bool needs_energies(std::int64_t /*step*/) const { return false; }
  /// Runs after every step.
  virtual void after_step(Simulation&) {}
  /// Runs after the last step of Simulation::run().
  virtual void finish(Simulation&) {}
};

/// Returns true for every so many steps; never where `every` is 0.
inline bool is_due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

}  // namespace tessera::app
