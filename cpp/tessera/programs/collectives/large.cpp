#include "tessera/programs/collectives/large.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/mpi/collectives.h"

namespace tessera::programs {

nlohmann::json check_large(const LargeRequest& request, MPI_Comm comm) {
  const bool is_broadcast = request.operation == "broadcast";
  if (!is_broadcast && request.operation != "all_reduce")
    throw InputError(fmt::format("--operation {}: expected broadcast or all_reduce", request.operation));
  int rank = 0, n_ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &n_ranks);
  const int root = n_ranks - 1;
  comm::mpi::CollectiveSettings settings;
  if (request.entry != "auto") settings.only = request.entry;
  comm::mpi::Collectives ours(comm, comm::mpi::Placement(comm, nullptr), settings);

  // No two stretches of elements are alike.
  const auto drawn = [](std::int64_t i) {
    return static_cast<unsigned>(static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u >> 60);
  };
  std::vector<unsigned char> values(static_cast<std::size_t>(request.count));
  for (std::int64_t i = 0; i < request.count; ++i)
    values[static_cast<std::size_t>(i)] =
        static_cast<unsigned char>(!is_broadcast || rank == root ? drawn(i) + static_cast<unsigned>(rank) : 0);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);  // what Open MPI says of an error at the end of a job may get lost
  const int code = is_broadcast
                       ? ours.broadcast(values.data(), request.count, MPI_BYTE, root)
                       : ours.all_reduce(MPI_IN_PLACE, values.data(), request.count, MPI_UNSIGNED_CHAR, MPI_SUM);
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw RunError(fmt::format("{} of {} bytes by {}: {}", request.operation, request.count, ours.latest().name, text));
  }
  const auto n = static_cast<unsigned>(n_ranks), factor = is_broadcast ? 1 : n;
  const unsigned sum_of_ranks = is_broadcast ? n - 1 : n * (n - 1) / 2;
  std::int64_t n_wrong = 0;
  for (std::int64_t i = 0; i < request.count; ++i)
    n_wrong += values[static_cast<std::size_t>(i)] != static_cast<unsigned char>(factor * drawn(i) + sum_of_ranks);
  MPI_Allreduce(MPI_IN_PLACE, &n_wrong, 1, MPI_INT64_T, MPI_SUM, comm);
  return {{"plan", ours.latest().name}, {"reason", ours.latest().reason}, {"wrong", n_wrong}};
}

}  // namespace tessera::programs
