// Compiles the kernels of half steps, and those of velocities, for devices.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/md/integrate/device/motion_kernel-inl.h"
#include "tessera/md/integrate/device/velocity_kernel-inl.h"

namespace tessera::md::integrate::N_LANE {

#define TESSERA_MOTION(name, ...)                        \
  TESSERA_KERNEL(name, MotionKernel<__VA_ARGS__, false>) \
  TESSERA_KERNEL(name##_any, MotionKernel<__VA_ARGS__, true>)

TESSERA_MOTION(tessera_kick_and_drift, KickAndDriftOnDevice)
TESSERA_MOTION(tessera_kick_and_drift_with_noise, KickAndDriftWithNoiseOnDevice)
TESSERA_MOTION(tessera_kick_and_project, KickAndProjectOnDevice<false>)
TESSERA_MOTION(tessera_kick_and_project_with_virial, KickAndProjectOnDevice<true>)
TESSERA_MOTION(tessera_constraint_virial, AddConstraintVirialOnDevice)
TESSERA_MOTION(tessera_virial_within, AddVirialWithinOnDevice)
TESSERA_MOTION(tessera_follow_box, FollowBoxOnDevice)

TESSERA_KERNEL(tessera_kinetic_energies, VelocityKernel<AddKineticEnergies>)
TESSERA_KERNEL(tessera_momentum, VelocityKernel<AddMomentum>)
TESSERA_KERNEL(tessera_scale_velocities, VelocityKernel<ScaleVelocities>)
TESSERA_KERNEL(tessera_shift_velocities, VelocityKernel<ShiftVelocities>)

}  // namespace tessera::md::integrate::N_LANE
