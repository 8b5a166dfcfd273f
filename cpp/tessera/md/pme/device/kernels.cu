// Compiles the kernels of the particle mesh for devices.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/md/pme/device/mesh_kernel-inl.h"

namespace tessera::md::pme::N_LANE {

#define TESSERA_ORDER(order)                                       \
  TESSERA_KERNEL(tessera_mesh_spread_##order, SpreadKernel<order>) \
  TESSERA_KERNEL(tessera_mesh_gather_##order, GatherKernel<order>)

TESSERA_ORDER(4)
TESSERA_ORDER(6)
TESSERA_ORDER(8)
TESSERA_KERNEL(tessera_mesh_convert, ConvertKernel)

}  // namespace tessera::md::pme::N_LANE
