// An approximate inverse of −½∇² + v(r) for residuals of wave functions, in single precision, where v(r) = shift +
// max(V(r) − level, 0): waves have about the kinetic energy `shift` where the potential is below the level, their
// energy, and fall off as they should where it is above.
//
// It is one sawtooth cycle of multigrid on the grids of Poisson's equation (poisson/levels.h, multigrid.h): the
// residual is restricted down to the coarsest level; going up, each solution is interpolated and relaxed by sweeps of
// Jacobi's method, u ← (1 − ω) u + ω (right + neighbours) / (diagonal + v), whose factors ω are those of Chebyshev's
// polynomial. v draws the eigenvalues of such a sweep towards 1, so that the polynomial fits for any potential. The
// coarsest level is solved directly for a constant v and then relaxed.
//
// Bloch waves are e^{ik·r} times periodic functions: residuals are multiplied by e^{−ik·r}, their real and imaginary
// parts go through the cycle of periodic functions, and the result is multiplied by e^{ik·r}. So k is left out of
// ½|k + G|², which is small beside the shift or well approximated. In cells whose edges are not at right angles, mixed
// derivatives are left out.
#pragma once

#include <complex>
#include <deque>
#include <span>
#include <vector>

#include "tessera/grid/eigen/hamiltonian.h"
#include "tessera/grid/levels/transfer.h"
#include "tessera/grid/operator.h"
#include "tessera/grid/poisson/levels.h"
#include "tessera/grid/poisson/spectral.h"

namespace tessera::grid {

/// The same bits on any ranks and threads.
class WavePreconditioner {
 public:
  /// Collective.
  explicit WavePreconditioner(const WaveGrid& grid);

  /// `potential` of this rank's box; shift > 0. All are in hartree. Collective.
  void set_potential(std::span<const double> potential, double level, double shift);
  /// Replaces n fields (n, nx, ny, nz) of this rank's box. Collective.
  void apply(std::span<double> fields, std::int64_t n);

 private:
  struct Fields {
    std::vector<float> right, solution, other, inverse;  // inverse: 1 / (diagonal + v)
  };

  void apply_real(double* field);
  void apply_complex(double* field);
  const std::vector<float>& run();
  void relax(std::size_t level);
  ThreadPool& threads_of(const Level& level);

  WaveGrid grid_;
  ThreadPool alone_;
  IndexBox box_;
  std::array<std::vector<std::complex<float>>, 3> waves_;  // e^{ik·r} along each edge of the box
  std::vector<Level> levels_;
  std::vector<double> diagonals_;                  // by level
  std::vector<std::vector<float>> factors_;        // by level: ω
  std::deque<StencilOperator<float>> neighbours_;  // −½∇² without its diagonal, with changed sign
  std::deque<Transfer<float>> down_, up_;          // by the finer level
  std::vector<Fields> fields_;
  SpectralSolver<float> coarsest_;
  std::vector<std::complex<float>> turned_;  // a field times e^{−ik·r}
};

}  // namespace tessera::grid
