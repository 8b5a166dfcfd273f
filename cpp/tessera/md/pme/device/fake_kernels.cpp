// Kernels of the particle mesh for the driver of tests (fake_driver.cpp), which a host runs.
#include <string>

#include "tessera/base/simd/lane/target.h"
//
#include "tessera/device/fake_driver.h"
#include "tessera/md/pme/device/mesh_kernel-inl.h"

namespace tessera::md::pme::N_LANE {

namespace {

using device::fake::Registered;

template <int order>
void add_order() {
  Registered(("tessera_mesh_spread_" + std::to_string(order)).c_str(), simd::RunAsFake<SpreadKernel<order>>);
  Registered(("tessera_mesh_gather_" + std::to_string(order)).c_str(), simd::RunAsFake<GatherKernel<order>>);
}

const bool are_added = [] {
  add_order<4>();
  add_order<6>();
  add_order<8>();
  Registered("tessera_mesh_convert", simd::RunAsFake<ConvertKernel>);
  return true;
}();

}  // namespace

}  // namespace tessera::md::pme::N_LANE
