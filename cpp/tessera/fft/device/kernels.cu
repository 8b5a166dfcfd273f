// Compiles the kernel of lines for devices.
#include "tessera/base/simd/lane/target.h"
//
#include "tessera/fft/device/line_kernel-inl.h"

namespace tessera::fft::N_LANE {

TESSERA_KERNEL(tessera_lines, LineKernel)

}  // namespace tessera::fft::N_LANE
