// Compiles the kernels that sort atoms into cells for devices.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/md/domain/device/search_kernel-inl.h"

namespace tessera::md::domain::N_LANE {

TESSERA_KERNEL(tessera_cells, CellKernel)
TESSERA_KERNEL(tessera_atoms_of_cells, AtomsOfCellKernel)
TESSERA_KERNEL(tessera_sort_cells, SortKernel)

}  // namespace tessera::md::domain::N_LANE
