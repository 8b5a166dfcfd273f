// One cycle of geometric multigrid, an approximate inverse of a discrete Laplacian: the right-hand side is restricted
// down to the coarsest level, which is solved directly (spectral.h); going up, each solution is interpolated and
// relaxed by a Chebyshev polynomial. Nothing is relaxed on the way down, so no level needs a residual (the sawtooth
// cycle of P. Wesseling, An Introduction to Multigrid Methods, Wiley 1992, section 8.4); of the error of a two-grid
// cycle only the product of both polynomials matters.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/levels/transfer.h"
#include "tessera/grid/operator.h"
#include "tessera/grid/poisson/levels.h"
#include "tessera/grid/poisson/spectral.h"

namespace tessera::grid {

/// The same bits on any ranks and threads. Memory: about 4½ arrays of a rank's share. The communicator and the threads
/// must outlive it.
template <class Real>
class MultigridCycle {
 public:
  MultigridCycle(std::vector<Level> levels, const comm::Communicator& comm, ThreadPool& threads);

  /// Returns the array that the right-hand side of this rank's box is to be written to before a cycle.
  std::span<Real> right() { return fields_.front().right; }
  /// Returns an approximate solution u of L u = right. Collective.
  std::span<const Real> run();

  const std::vector<Level>& levels() const { return levels_; }

 private:
  struct Fields {
    std::vector<Real> right, solution, other;
  };
  void relax(std::size_t level);

  std::vector<Level> levels_;
  ThreadPool& threads_;
  std::vector<Fields> fields_;
  std::vector<std::deque<StencilOperator<Real>>> sweeps_;  // by level
  std::deque<Transfer<Real>> down_, up_;                   // by the finer level
  SpectralSolver<Real> coarsest_;
};

extern template class MultigridCycle<float>;
extern template class MultigridCycle<double>;

}  // namespace tessera::grid
