// Velocity Verlet with several time steps: bonded forces act in every step, those of the direct sum in every n-th and
// those of the mesh in every m-th, n and m times as strongly. Velocities stand at whole steps; those of steps between
// lack a part of the slower forces.
//
//   [v += ½m·dt·F_mesh/m]  [v += ½n·dt·F_direct/m]  n × {v += ½dt·F/m, x += dt·v, v += ½dt·F/m}  [v +=
//   ½n·dt·F_direct/m] … m/n times …  [v += ½m·dt·F_mesh/m]
//
// Source: M. Tuckerman, B. J. Berne, G. J. Martyna, J. Chem. Phys. 97, 1990 (1992), doi:10.1063/1.463137.
#pragma once

#include "tessera/md/force_groups.h"

namespace tessera::md::integrate {

/// Returns the groups of forces that the integrator needs (EngineSettings::force_groups): first those of every step,
/// then the slower ones by their period.
ForceGroups respa_groups(std::int64_t direct_every, std::int64_t mesh_every);

}  // namespace tessera::md::integrate
