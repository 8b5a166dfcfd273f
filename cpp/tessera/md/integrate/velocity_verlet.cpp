#include "tessera/md/integrate/velocity_verlet.h"

#include "tessera/md/integrate/baths/coupled_integrator.h"

namespace tessera::md::integrate {

namespace {

class VelocityVerlet final : public CoupledIntegrator {
 public:
  using CoupledIntegrator::CoupledIntegrator;

  Failure before_forces(Motion& motion) override {
    couplings().before_step(motion);
    const auto failure = motion.kick_and_drift(0.5 * motion.timestep(), motion.timestep());
    couplings().after_drift(motion);
    return failure;
  }

  Failure after_forces(Motion& motion, bool with_virial) override {
    const auto failure = motion.kick_and_project(0.5 * motion.timestep(), with_virial);
    finish_step(motion);
    return failure;
  }
};

}  // namespace

std::unique_ptr<Integrator> make_velocity_verlet(const EngineSettings& settings) {
  return std::make_unique<VelocityVerlet>(settings);
}

}  // namespace tessera::md::integrate
