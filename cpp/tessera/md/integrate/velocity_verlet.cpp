#include "tessera/md/integrate/velocity_verlet.h"

#include "tessera/md/integrate/coupling/coupling.h"

namespace tessera::md::integrate {

namespace {

class VelocityVerlet final : public Integrator {
 public:
  explicit VelocityVerlet(const EngineSettings& settings)
      : com_removal_every_(settings.fixed.empty() ? settings.com_removal_every : 0), couplings_(settings.coupling) {}

  Failure before_forces(Motion& motion) override {
    couplings_.before_step(motion);
    return motion.kick_and_drift(0.5 * motion.timestep(), motion.timestep());
  }

  Failure after_forces(Motion& motion, bool with_virial) override {
    const auto failure = motion.kick_and_project(0.5 * motion.timestep(), with_virial);
    if (com_removal_every_ > 0 && motion.step() % com_removal_every_ == 0) motion.remove_centre_of_mass_motion();
    couplings_.after_step(motion);
    return failure;
  }

  StepSums needed_sums(std::int64_t step) const override { return couplings_.needed_sums(step); }
  double conserved(const Energies& energies, const State& state) const override {
    return energies.total() + couplings_.energy(energies, state);
  }
  std::int64_t removed_degrees_of_freedom() const override { return com_removal_every_ > 0 ? 3 : 0; }

 private:
  std::int64_t com_removal_every_;  // steps; 0: never
  Couplings couplings_;
};

}  // namespace

std::unique_ptr<Integrator> make_velocity_verlet(const EngineSettings& settings) {
  return std::make_unique<VelocityVerlet>(settings);
}

}  // namespace tessera::md::integrate
