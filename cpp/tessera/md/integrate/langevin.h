// Langevin dynamics by the splitting BAOAB, with constraints kept after each part. Velocities stand at whole steps.
//
//   B: v += ½dt·F/m   A: x += ½dt·v   O: v ← e^{−γdt}·v + √((1−e^{−2γdt})·kT/m)·R   A   B,   γ = 1/τ
//
// Source: B. Leimkuhler, C. Matthews, J. Chem. Phys. 138, 174102 (2013), doi:10.1063/1.4802990; with constraints:
// Proc. R. Soc. A 472, 20160138 (2016), doi:10.1098/rspa.2016.0138.
#pragma once

#include "tessera/md/integrate/integrator.h"

namespace tessera::md::integrate {

std::unique_ptr<Integrator> make_langevin(const EngineSettings& settings);

inline constexpr IntegratorEntry langevin = {"langevin", "constant temperature by friction and noise (BAOAB)",
                                             make_langevin};

}  // namespace tessera::md::integrate
