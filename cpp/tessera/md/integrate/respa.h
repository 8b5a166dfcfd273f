// Velocity Verlet with two time steps: the forces of the mesh act in every n-th step, n times as strongly. Velocities
// stand at whole steps; those of steps between lack a part of the mesh's forces.
//
//   [v += ½n·dt·F_mesh/m]  n × {v += ½dt·F/m, x += dt·v, v += ½dt·F/m}  [v += ½n·dt·F_mesh/m]
//
// Source: M. Tuckerman, B. J. Berne, G. J. Martyna, J. Chem. Phys. 97, 1990 (1992), doi:10.1063/1.463137.
#pragma once

#include "tessera/md/integrate/integrator.h"

namespace tessera::md::integrate {

/// The groups of forces that the integrator needs (EngineSettings::force_groups).
inline constexpr ForceGroups respa_groups{{0, 0, 1, 0}};  // bonded, direct, mesh, external

std::unique_ptr<Integrator> make_respa(const EngineSettings& settings);

inline constexpr IntegratorEntry respa = {"respa", "forces of the mesh at longer times (r-RESPA)", make_respa};

}  // namespace tessera::md::integrate
