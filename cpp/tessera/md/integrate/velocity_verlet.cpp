// Integrates at constant energy by velocity Verlet, with SETTLE, SHAKE and RATTLE. Velocities are at whole steps.
//
//   v(t+½) = v(t) + ½dt·F(t)/m,  x(t+1) = x(t) + dt·v(t+½),  v(t+1) = v(t+½) + ½dt·F(t+1)/m
//
// Source: W. C. Swope et al., J. Chem. Phys. 76, 637 (1982), doi:10.1063/1.442716.
#include "tessera/md/integrate/baths/coupled_integrator.h"

namespace tessera::md::integrate {

namespace {

class VelocityVerlet final : public CoupledIntegrator {
 public:
  using CoupledIntegrator::CoupledIntegrator;

  Failure before_forces(Motion& motion) override {
    baths().before_step(motion);
    const auto failure = motion.kick_and_drift(0.5 * motion.timestep(), motion.timestep());
    baths().after_drift(motion);
    return failure;
  }

  Failure after_forces(Motion& motion, bool with_virial) override {
    const auto failure = motion.kick_and_project(0.5 * motion.timestep(), with_virial);
    finish_step(motion);
    return failure;
  }
};

}  // namespace

extern constinit const IntegratorEntry velocity_verlet = {.name = "velocity-verlet",
                                                          .description = "velocities at whole steps",
                                                          .is_offered = true,
                                                          .several_times = "respa",
                                                          .make = make<VelocityVerlet>};

}  // namespace tessera::md::integrate
