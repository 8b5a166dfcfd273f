#include "tessera/comm/planned_moves.h"

#include <mpi.h>

#include <optional>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/mpi/communicator.h"
#include "tessera/comm/mpi/execute.h"

namespace tessera::comm {

struct PlannedMoves::Implementation {
  ~Implementation() {
    int has_ended = 0;
    MPI_Finalized(&has_ended);
    if (!has_ended) MPI_Comm_free(&comm);
  }

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  std::optional<mpi::Executor> executor;
  std::vector<mpi::Schedule> schedules;
  mpi::Storage scratch;
};

PlannedMoves::PlannedMoves(const Communicator& comm) : implementation_(new Implementation) {
  MPI_Comm_dup(comm.implementation_->comm, &implementation_->comm);
  MPI_Comm_set_errhandler(implementation_->comm, MPI_ERRORS_RETURN);
  implementation_->rank = comm.rank();
  implementation_->executor.emplace(implementation_->comm, mpi::Limits{});
}
PlannedMoves::PlannedMoves(PlannedMoves&&) noexcept = default;
PlannedMoves::~PlannedMoves() = default;

int PlannedMoves::add(const collectives::MessagePlan& plan) {
  auto& schedules = implementation_->schedules;
  schedules.emplace_back(plan, implementation_->rank);
  return static_cast<int>(schedules.size()) - 1;
}

void PlannedMoves::execute(int plan, const std::byte* input, std::byte* output) {
  const auto& schedule = implementation_->schedules[static_cast<std::size_t>(plan)];
  auto* scratch = implementation_->scratch.elements(schedule.touched(mpi::Buffer::scratch), mpi::Element{});
  const int code = implementation_->executor->execute(schedule, {const_cast<std::byte*>(input), output, scratch},
                                                      mpi::Element{}, {});
  TESSERA_CHECK(code == MPI_SUCCESS);
}

}  // namespace tessera::comm
