// The interface of heat and pressure baths, which act on the system at whole steps. To add one: a file with a class,
// and its case in coupling.cpp.
//
// A bath acts in every so many steps (CouplingSettings::every) as if it had acted all the time since then. Its noise is
// a function of the seed and the step, and its variables are in State::coupling, which checkpoints hold: a run is the
// same bits on any number of ranks and over restarts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/md/integrate/baths/settings.h"
#include "tessera/md/integrate/motion.h"

namespace tessera::md::integrate {

class Coupling {
 public:
  virtual ~Coupling() = default;

  /// Acts before the first half of a step; motion.step() is the coming step. Collective.
  virtual void before_step(Motion& /*motion*/) {}
  /// Acts between the drift of a step and its forces. Collective.
  virtual void after_drift(Motion& /*motion*/) {}
  /// Acts after the second half of a step, on velocities that stand at the time of the positions. Collective.
  virtual void after_step(Motion& /*motion*/) {}
  /// Tells what the step after this one needs of the sums of this one.
  virtual StepSums needed_sums(std::int64_t /*step*/) const { return StepSums::none; }
  /// Returns a box to be tried in the present step before the coming one, if one is due.
  virtual std::optional<Box> trial_box(Motion& /*motion*/) { return {}; }
  /// Decides whether the box stays what trial_box() asked for, by the potential energy in it (kcal/mol) and the box
  /// before; motion.energies() are those before.
  virtual bool accepts(Motion& /*motion*/, const Box& /*before*/, double /*potential*/) { return true; }
  /// Returns the energy that the bath holds, up to a constant, kcal/mol: with that of the system it is conserved.
  /// `energies` are those of the state.
  virtual double energy(const Energies& energies, const State& state) const = 0;
};

/// Holds the baths that the settings ask for, but for Langevin's, which is an integrator of its own.
class Couplings {
 public:
  explicit Couplings(const CouplingSettings& settings);

  void before_step(Motion& motion) {
    for (auto& coupling : couplings_) coupling->before_step(motion);
  }
  void after_drift(Motion& motion) {
    for (auto& coupling : couplings_) coupling->after_drift(motion);
  }
  void after_step(Motion& motion) {
    for (auto& coupling : couplings_) coupling->after_step(motion);
  }
  std::optional<Box> trial_box(Motion& motion);
  bool accepts(Motion& motion, const Box& before, double potential);
  StepSums needed_sums(std::int64_t step) const;
  double energy(const Energies& energies, const State& state) const;

 private:
  std::vector<std::unique_ptr<Coupling>> couplings_;
};

/// Returns a variable of a bath, 0 before its first action.
double coupling_of(const State& state, const std::string& name, std::size_t i);

std::unique_ptr<Coupling> make_bussi(const CouplingSettings& settings);
std::unique_ptr<Coupling> make_nose_hoover(const CouplingSettings& settings);
std::unique_ptr<Coupling> make_berendsen_thermostat(const CouplingSettings& settings);
std::unique_ptr<Coupling> make_cell_scaling(const CouplingSettings& settings);
std::unique_ptr<Coupling> make_mtk(const CouplingSettings& settings);  // thermostat and barostat
std::unique_ptr<Coupling> make_monte_carlo(const CouplingSettings& settings);

}  // namespace tessera::md::integrate
