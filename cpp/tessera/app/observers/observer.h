// What watches a simulation while it runs.
#pragma once

#include <cstdint>

namespace tessera::app {

class Simulation;

/// Every member is called on all ranks alike and may be collective.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Before the first step of Simulation::run().
  virtual void start(Simulation&) {}
  /// Whether the energies of this step, which is to come, have to be summed.
  virtual bool needs_energies(std::int64_t /*step*/) const { return false; }
  /// After every step.
  virtual void after_step(Simulation&) {}
  /// After the last step of Simulation::run().
  virtual void finish(Simulation&) {}
};

/// True for every so many steps; never where `every` is 0.
inline bool is_due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

}  // namespace tessera::app
