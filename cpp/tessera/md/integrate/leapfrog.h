// Integrates by leapfrog, with SETTLE and SHAKE. Velocities stand half a step before the positions.
//
//   v(t+½) = v(t−½) + dt·F(t)/m,  x(t+1) = x(t) + dt·v(t+½)
//
// Positions are those of velocity Verlet. The kinetic energy of a step is the mean of the two half steps around it.
// Source: R. W. Hockney, S. P. Goel, J. W. Eastwood, J. Comput. Phys. 14, 148 (1974),
// doi:10.1016/0021-9991(74)90010-2.
#pragma once

#include "tessera/md/integrate/integrator.h"

namespace tessera::md::integrate {

std::unique_ptr<Integrator> make_leapfrog(const EngineSettings& settings);

inline constexpr IntegratorEntry leapfrog = {"leapfrog", "constant energy, velocities at half steps", make_leapfrog};

}  // namespace tessera::md::integrate
