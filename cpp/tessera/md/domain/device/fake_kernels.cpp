// The kernels that sort atoms into cells for the driver of tests (fake_driver.cpp), which a host runs.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/device/fake_driver.h"
#include "tessera/md/domain/device/search_kernel-inl.h"

namespace tessera::md::domain::N_LANE {

namespace {

const device::fake::Registered cells("tessera_cells", simd::RunAsFake<CellKernel>),
    atoms_of_cells("tessera_atoms_of_cells", simd::RunAsFake<AtomsOfCellKernel>),
    sort_cells("tessera_sort_cells", simd::RunAsFake<SortKernel>);

}  // namespace

}  // namespace tessera::md::domain::N_LANE
