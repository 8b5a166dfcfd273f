// The kernel of lines for the driver of tests (fake_driver.cpp), which a host runs.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/device/fake_driver.h"
#include "tessera/fft/device/line_kernel-inl.h"

namespace tessera::fft::N_LANE {

static const device::fake::Registered lines("tessera_lines", simd::RunAsFake<LineKernel>);

}  // namespace tessera::fft::N_LANE
