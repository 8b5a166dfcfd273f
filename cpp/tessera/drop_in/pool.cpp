#include "tessera/drop_in/pool.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

namespace tessera::drop_in {
namespace {

using comm::mpi::LeftPlans;

std::vector<int> ranks_in_world(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  int n = 0;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(group, &n);
  std::vector<int> ranks(static_cast<std::size_t>(n)), found(ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group_translate_ranks(group, n, ranks.data(), world, found.data());
  MPI_Group_free(&world);
  MPI_Group_free(&group);
  return found;
}

}  // namespace

std::unique_ptr<LeftPlans> Pool::take(MPI_Comm comm, std::unique_ptr<LeftPlans> fresh) {
  fresh->ranks = ranks_in_world(comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::unique_ptr<LeftPlans> offered;
  std::int64_t next = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto latest = std::find_if(left_.rbegin(), left_.rend(), [&](auto& one) {
      return one->ranks == fresh->ranks && one->sharing == fresh->sharing;
    });
    if (latest != left_.rend()) {
      offered = std::move(*latest);
      left_.erase(std::next(latest).base());
    }
    if (rank == 0) next = n_numbers_++;
  }
  // The least and the greatest of the numbers that ranks offer, and the number that rank 0 gives to fresh plans.
  const auto own = offered ? offered->number : LeftPlans::none;
  std::array<std::int64_t, 3> all{own, -own, -next};
  if (MPI_Allreduce(MPI_IN_PLACE, all.data(), 3, MPI_INT64_T, MPI_MIN, comm) != MPI_SUCCESS) return fresh;
  if (own != LeftPlans::none && all[0] == -all[1]) return offered;
  fresh->number = -all[2];
  return fresh;
}

void Pool::keep(std::unique_ptr<LeftPlans> left) {
  std::unique_ptr<LeftPlans> oldest;  // freed after the lock
  const std::lock_guard lock(mutex_);
  if (left_.size() == most) {
    oldest = std::move(left_.front());
    left_.erase(left_.begin());
  }
  left_.push_back(std::move(left));
}

}  // namespace tessera::drop_in
