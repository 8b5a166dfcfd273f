#include "tessera/md/integrate/leapfrog.h"

#include "tessera/md/integrate/baths/coupled_integrator.h"

namespace tessera::md::integrate {

namespace {

class Leapfrog final : public CoupledIntegrator {
 public:
  using CoupledIntegrator::CoupledIntegrator;

  Failure before_forces(Motion& motion) override {
    couplings().before_step(motion);
    const auto failure = motion.kick_and_drift(motion.timestep(), motion.timestep());
    couplings().after_drift(motion);
    return failure;
  }

  Failure after_forces(Motion& motion, bool with_virial) override {
    Failure failure;
    if (with_virial) failure = motion.add_constraint_virial();
    finish_step(motion);
    return failure;
  }

  VelocityTime velocity_time() const override { return VelocityTime::half_step_before; }
};

}  // namespace

std::unique_ptr<Integrator> make_leapfrog(const EngineSettings& settings) {
  return std::make_unique<Leapfrog>(settings);
}

}  // namespace tessera::md::integrate
