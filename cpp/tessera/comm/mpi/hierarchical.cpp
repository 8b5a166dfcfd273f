// The calls of the MPI library inside each host, before and after the messages of a hierarchical plan.
#include "tessera/collectives/hierarchical/hierarchical.h"

#include <algorithm>
#include <stdexcept>

#include "tessera/comm/mpi/collectives.h"
#include "tessera/comm/mpi/native.h"

namespace tessera::comm::mpi {

/// Finds this rank's part inside its host. The communicators of the hosts are made on the first call. Collective.
std::optional<Collectives::Inside> Collectives::make_inside(const CollectiveProblem& problem) {
  const int host = wires_->host_of(rank_);
  if (kept_->inside == MPI_COMM_NULL) {
    if (MPI_Comm_split(kept_->messages, host, rank_, &kept_->inside) != MPI_SUCCESS) {
      kept_->inside = MPI_COMM_NULL;
      throw std::length_error("there is no communicator left for the ranks of a host");
    }
    MPI_Comm_set_errhandler(kept_->inside, MPI_ERRORS_RETURN);
  }
  const auto ranks = wires_->ranks_on(host);
  if (ranks.size() == 1) return std::nullopt;
  const int leader = leader_of(problem, *wires_, host);
  const auto place = std::find(ranks.begin(), ranks.end(), leader) - ranks.begin();
  return Inside{static_cast<int>(place), rank_ == leader, static_cast<std::size_t>(ranks.front())};
}

/// Collects the data of the ranks of a host on its leader.
int Collectives::collect(const Planned& planned, std::byte* output, const Element& element,
                         const Reduction& reduction) {
  const auto& [leader, is_leader, first] = *planned.inside;
  const auto& blocks = planned.problem.blocks;
  const auto& offsets = planned.offsets;
  switch (planned.problem.operation) {
    case Operation::barrier:
      return MPI_Barrier(kept_->inside);
    case Operation::all_gather: {
      const auto own = static_cast<std::size_t>(rank_);
      return native::gatherv(is_leader ? MPI_IN_PLACE : output + offsets[own] * element.extent, blocks[own],
                             element.type, output, &blocks[first], &offsets[first], element.type, leader,
                             kept_->inside);
    }
    case Operation::reduce:
    case Operation::all_reduce:
    case Operation::reduce_scatter:
      return native::reduce(is_leader ? MPI_IN_PLACE : output, is_leader ? output : nullptr, offsets.back(),
                            element.type, reduction.operation, leader, kept_->inside);
    default:
      return MPI_SUCCESS;
  }
}

/// Distributes the data of a leader to the ranks of its host.
int Collectives::distribute(const Planned& planned, std::byte* output, const Element& element) {
  const auto& [leader, is_leader, first] = *planned.inside;
  const auto& blocks = planned.problem.blocks;
  const auto& offsets = planned.offsets;
  switch (planned.problem.operation) {
    case Operation::barrier:
      return MPI_Barrier(kept_->inside);
    case Operation::broadcast:
    case Operation::all_gather:
    case Operation::all_reduce:
      return native::broadcast(output, offsets.back(), element.type, leader, kept_->inside);
    case Operation::reduce_scatter: {
      const auto own = static_cast<std::size_t>(rank_);
      return native::scatterv(output, &blocks[first], &offsets[first], element.type,
                              is_leader ? MPI_IN_PLACE : output + offsets[own] * element.extent, blocks[own],
                              element.type, leader, kept_->inside);
    }
    default:
      return MPI_SUCCESS;
  }
}

}  // namespace tessera::comm::mpi
