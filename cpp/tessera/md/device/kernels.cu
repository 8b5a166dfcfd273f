// Compiles the kernel that checks where atoms are for devices.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/md/device/check_kernel-inl.h"

namespace tessera::md::N_LANE {

TESSERA_KERNEL(tessera_displacement, DisplacementKernel)

}  // namespace tessera::md::N_LANE
