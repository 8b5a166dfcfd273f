// Integrates by leapfrog, with SETTLE and SHAKE. Velocities stand half a step before the positions.
//
//   v(t+½) = v(t−½) + dt·F(t)/m,  x(t+1) = x(t) + dt·v(t+½)
//
// Positions are those of velocity Verlet. The kinetic energy of a step is the mean of the two half steps around it.
// Source: R. W. Hockney, S. P. Goel, J. W. Eastwood, J. Comput. Phys. 14, 148 (1974),
// doi:10.1016/0021-9991(74)90010-2.
#include "tessera/md/integrate/baths/coupled_integrator.h"

namespace tessera::md::integrate {

namespace {

class Leapfrog final : public CoupledIntegrator {
 public:
  using CoupledIntegrator::CoupledIntegrator;

  Failure before_forces(Motion& motion) override {
    baths().before_step(motion);
    const auto failure = motion.kick_and_drift(motion.timestep(), motion.timestep());
    baths().after_drift(motion);
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

extern constinit const IntegratorEntry leapfrog = {.name = "leapfrog",
                                                   .description = "half a step before, with the same positions",
                                                   .is_offered = true,
                                                   .has_half_steps = true,
                                                   .make = make<Leapfrog>};

}  // namespace tessera::md::integrate
