// The kernel of bonded terms for the driver of tests (fake_driver.cpp), which a host runs.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/device/fake_driver.h"
#include "tessera/md/bonded/device/bonded_kernel-inl.h"

namespace tessera::md::bonded::N_LANE {

namespace {

using device::fake::Registered;

const Registered alone("tessera_bonded", simd::RunAsFake<BondedKernel<false, false>>);
const Registered with_energies("tessera_bonded_energies", simd::RunAsFake<BondedKernel<true, false>>);
const Registered of_cmap("tessera_cmap", simd::RunAsFake<BondedKernel<false, true>>);
const Registered of_cmap_with_energies("tessera_cmap_energies", simd::RunAsFake<BondedKernel<true, true>>);

}  // namespace

}  // namespace tessera::md::bonded::N_LANE
