// The kernels of half steps, and those of velocities, for the driver of tests (fake_driver.cpp), which a host runs.
#include <string>

#include "tessera/base/simd/lane/target.h"
//
#include "tessera/device/fake_driver.h"
#include "tessera/md/integrate/device/motion_kernel-inl.h"
#include "tessera/md/integrate/device/velocity_kernel-inl.h"

namespace tessera::md::integrate::N_LANE {

namespace {

using device::fake::Registered;

template <class Half>
void add_half(const std::string& name) {
  Registered(name.c_str(), simd::RunAsFake<MotionKernel<Half, false>>);
  Registered((name + "_any").c_str(), simd::RunAsFake<MotionKernel<Half, true>>);
}

const bool are_added = [] {
  add_half<KickAndDriftOnDevice>("tessera_kick_and_drift");
  add_half<KickAndDriftWithNoiseOnDevice>("tessera_kick_and_drift_with_noise");
  add_half<KickAndProjectOnDevice<false>>("tessera_kick_and_project");
  add_half<KickAndProjectOnDevice<true>>("tessera_kick_and_project_with_virial");
  add_half<AddConstraintVirialOnDevice>("tessera_constraint_virial");
  add_half<AddVirialWithinOnDevice>("tessera_virial_within");
  add_half<FollowBoxOnDevice>("tessera_follow_box");
  Registered("tessera_kinetic_energies", simd::RunAsFake<VelocityKernel<AddKineticEnergies>>);
  Registered("tessera_momentum", simd::RunAsFake<VelocityKernel<AddMomentum>>);
  Registered("tessera_scale_velocities", simd::RunAsFake<VelocityKernel<ScaleVelocities>>);
  Registered("tessera_shift_velocities", simd::RunAsFake<VelocityKernel<ShiftVelocities>>);
  return true;
}();

}  // namespace

}  // namespace tessera::md::integrate::N_LANE
