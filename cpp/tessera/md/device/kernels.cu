// Compiles the kernels of atoms for devices: where they are, and values that follow them to other slots.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/md/device/check_kernel-inl.h"
#include "tessera/md/device/renumber_kernel-inl.h"

namespace tessera::md::N_LANE {

TESSERA_KERNEL(tessera_displacement, DisplacementKernel)
TESSERA_KERNEL(tessera_move, MoveKernel)
TESSERA_KERNEL(tessera_renumber, RenumberKernel)

}  // namespace tessera::md::N_LANE
