// An approximate inverse of −½∇² + shift for residuals of wave functions: one cycle of multigrid in single precision
// (poisson/multigrid.h), with a stencil of order 2 and, in cells whose edges are not at right angles, without mixed
// derivatives.
//
// Bloch waves are e^{ik·r} times periodic functions: residuals are multiplied by e^{−ik·r}, their real and imaginary
// parts go through the cycle of periodic functions, and the result is multiplied by e^{ik·r}. So k is left out of
// ½|k + G|², which changes what is small beside the shift or is inverted well enough anyway.
#pragma once

#include <array>
#include <complex>
#include <span>
#include <vector>

#include "tessera/grid/eigen/hamiltonian.h"
#include "tessera/grid/poisson/multigrid.h"

namespace tessera::grid {

class WavePreconditioner {
 public:
  /// `shift` > 0, hartree: of about the waves' kinetic energy. Collective.
  WavePreconditioner(const WaveGrid& grid, double shift);

  /// Replaces fields (n, nx, ny, nz) of this rank's box. Values may be so small or large as squares of single
  /// precision can't be. Collective.
  void apply(std::span<double> fields, std::int64_t n);

 private:
  void run(double* field);
  void run_turned(double* field);

  WaveGrid grid_;
  IndexBox box_;
  bool is_turned_;                                         // has a k that is not 0
  std::array<std::vector<std::complex<float>>, 3> waves_;  // e^{ik·r} along each edge of the box
  MultigridCycle<float> cycle_;
  std::vector<std::complex<float>> turned_;  // a field times e^{−ik·r}
};

}  // namespace tessera::grid
