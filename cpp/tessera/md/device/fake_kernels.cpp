// The kernels of atoms for the driver of tests (fake_driver.cpp), which a host runs.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/device/fake_driver.h"
#include "tessera/md/device/check_kernel-inl.h"
#include "tessera/md/device/renumber_kernel-inl.h"

namespace tessera::md::N_LANE {

namespace {

const device::fake::Registered displacement("tessera_displacement", simd::RunAsFake<DisplacementKernel>),
    move("tessera_move", simd::RunAsFake<MoveKernel>), renumber("tessera_renumber", simd::RunAsFake<RenumberKernel>);

}  // namespace

}  // namespace tessera::md::N_LANE
