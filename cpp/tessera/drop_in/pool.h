// Plans of communicators that were freed, for others of the same ranks: programs make and free them by the thousand.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tessera/comm/mpi/collectives.h"

namespace tessera::drop_in {

/// Keeps plans in memory. A rank may free a communicator while others still use it, and threads free and make them in
/// any order; so the ranks agree on what they take, and free what they do not have in common. Threads may ask for plans
/// of different communicators at once; no lock is held while messages travel.
class Pool : public comm::mpi::PlanPool {
 public:
  std::unique_ptr<comm::mpi::LeftPlans> take(MPI_Comm comm, std::unique_ptr<comm::mpi::LeftPlans> fresh) override;
  /// Frees the oldest where there are many: MPI frees a communicator without its other ranks.
  void keep(std::unique_ptr<comm::mpi::LeftPlans> left) override;

 private:
  static constexpr std::size_t most = 16;  // MPICH has 2,048 communicators, and each of these takes up to two

  std::mutex mutex_;                                         // of the following
  std::vector<std::unique_ptr<comm::mpi::LeftPlans>> left_;  // the oldest first
  std::int64_t n_numbers_ = 0;                               // that this process gave as rank 0
};

}  // namespace tessera::drop_in
