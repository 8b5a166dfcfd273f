// Checks collectives of more elements than an int counts, without a second copy of the data.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera::programs {

struct LargeRequest {
  std::string operation = "broadcast";  // or all_reduce, of unsigned chars in place
  std::int64_t count = 1;
  std::string entry = "auto";
};

/// Returns how many elements are wrong on all ranks, and how the operation was carried out, without a map of the
/// machine. Throws InputError, and RunError where MPI returns an error. Collective.
nlohmann::json check_large(const LargeRequest& request, MPI_Comm comm);

}  // namespace tessera::programs
