// Compiles the kernels of half steps for devices.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/md/integrate/device/motion_kernel-inl.h"

namespace tessera::md::integrate::N_LANE {

#define TESSERA_MOTION(name, ...)                        \
  TESSERA_KERNEL(name, MotionKernel<__VA_ARGS__, false>) \
  TESSERA_KERNEL(name##_any, MotionKernel<__VA_ARGS__, true>)

TESSERA_MOTION(tessera_kick_and_drift, KickAndDriftOnDevice)
TESSERA_MOTION(tessera_kick_and_drift_with_noise, KickAndDriftWithNoiseOnDevice)
TESSERA_MOTION(tessera_kick_and_project, KickAndProjectOnDevice)

}  // namespace tessera::md::integrate::N_LANE
