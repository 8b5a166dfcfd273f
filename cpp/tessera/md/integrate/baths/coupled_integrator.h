// What integrators with baths share.
#pragma once

#include <optional>

#include "tessera/md/integrate/baths/bath.h"
#include "tessera/md/integrate/integrator.h"

namespace tessera::md::integrate {

class CoupledIntegrator : public Integrator {
 public:
  explicit CoupledIntegrator(const EngineSettings& settings)
      : com_removal_every_(settings.fixed.empty() ? settings.com_removal_every : 0), baths_(settings.baths) {}

  StepSums needed_sums(std::int64_t step) const override { return baths_.needed_sums(step); }
  std::optional<Box> trial_box(Motion& motion) override { return baths_.trial_box(motion); }
  bool accepts(Motion& motion, const Box& before, double potential) override {
    return baths_.accepts(motion, before, potential);
  }
  double conserved(const Energies& energies, const GlobalState& state) const override {
    return energies.total() + baths_.energy(energies, state);
  }
  std::int64_t removed_degrees_of_freedom() const override { return com_removal_every_ > 0 ? 3 : 0; }

 protected:
  Baths& baths() { return baths_; }
  /// Removes the motion of the centre of mass where that is due, and then lets the baths act.
  void finish_step(Motion& motion) {
    if (com_removal_every_ > 0 && motion.step() % com_removal_every_ == 0) motion.remove_centre_of_mass_motion();
    baths_.after_step(motion);
  }

 private:
  std::int64_t com_removal_every_;  // steps; 0: never
  Baths baths_;
};

}  // namespace tessera::md::integrate
