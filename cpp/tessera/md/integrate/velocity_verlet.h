// Integrates at constant energy by velocity Verlet, with SETTLE, SHAKE and RATTLE. Velocities are at whole steps.
//
//   v(t+½) = v(t) + ½dt·F(t)/m,  x(t+1) = x(t) + dt·v(t+½),  v(t+1) = v(t+½) + ½dt·F(t+1)/m
//
// Source: W. C. Swope et al., J. Chem. Phys. 76, 637 (1982), doi:10.1063/1.442716.
#pragma once

#include "tessera/md/integrate/integrator.h"

namespace tessera::md::integrate {

std::unique_ptr<Integrator> make_velocity_verlet(const EngineSettings& settings);

inline constexpr IntegratorEntry velocity_verlet = {"velocity-verlet", "constant energy, velocities at whole steps",
                                                    make_velocity_verlet};

}  // namespace tessera::md::integrate
