// The kernel that checks where atoms are for the driver of tests (fake_driver.cpp), which a host runs.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/device/fake_driver.h"
#include "tessera/md/device/check_kernel-inl.h"

namespace tessera::md::N_LANE {

namespace {

const device::fake::Registered displacement("tessera_displacement", simd::RunAsFake<DisplacementKernel>);

}  // namespace

}  // namespace tessera::md::N_LANE
