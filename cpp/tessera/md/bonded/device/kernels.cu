// Compiles the kernel of bonded terms for devices.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/md/bonded/device/bonded_kernel-inl.h"

namespace tessera::md::bonded::N_LANE {

TESSERA_KERNEL(tessera_bonded, BondedKernel<false, false>)
TESSERA_KERNEL(tessera_bonded_energies, BondedKernel<true, false>)
TESSERA_KERNEL(tessera_cmap, BondedKernel<false, true>)
TESSERA_KERNEL(tessera_cmap_energies, BondedKernel<true, true>)

}  // namespace tessera::md::bonded::N_LANE
