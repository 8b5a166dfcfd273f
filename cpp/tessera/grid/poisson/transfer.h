// Moves fields between a level of a multigrid solver and the next coarser one.
#pragma once

#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/poisson/levels.h"
#include "tessera/grid/poisson/move.h"

namespace tessera::grid {

/// Full weighting (¼ ½ ¼ along each halved edge) down, and linear interpolation up. Both levels may have any boxes; a
/// rank that owns coarse points gets the finer points around them. The same bits on any ranks and threads. The levels,
/// the communicator and the threads must outlive it.
template <class Real>
class LevelTransfer {
 public:
  LevelTransfer(const Level& fine, const Level& coarse, const comm::Communicator& comm, ThreadPool& threads);

  /// Fields of this rank's boxes. Collective.
  void restrict_to_coarse(const Real* fine, Real* coarse);
  void interpolate_to_fine(const Real* coarse, Real* fine);

 private:
  const Level& fine_;
  ThreadPool& threads_;
  Place fine_place_, coarse_place_;    // of this rank's boxes
  Place fine_around_, coarse_around_;  // what restricting and interpolating read
  Move<Real> down_, up_;
  std::vector<Real> fine_values_, coarse_values_;  // there
  bool owns_fine_;                                 // whether restricting reads this rank's own points where they are
};

extern template class LevelTransfer<float>;
extern template class LevelTransfer<double>;

}  // namespace tessera::grid
