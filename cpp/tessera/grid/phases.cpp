// A file of its own, compiled for the plainest instruction set: where there are fused operations, GCC 12 makes them of
// this loop, also if told not to.
#include "tessera/grid/phases.h"

namespace tessera::grid {

template <class Real>
void turn(Real* values, std::int64_t n, const std::complex<Real>& phase) {
  const Real re = phase.real(), im = phase.imag();
  for (std::int64_t i = 0; i < n; i += 2) {
    const Real first = values[i], second = values[i + 1];
    values[i] = first * re - second * im;
    values[i + 1] = first * im + second * re;
  }
}
template void turn(float* values, std::int64_t n, const std::complex<float>& phase);
template void turn(double* values, std::int64_t n, const std::complex<double>& phase);

}  // namespace tessera::grid
