// Collectives of more elements than an int counts, checked without a second copy.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera::comm::programs {

struct LargeRequest {
  std::string operation = "broadcast";  // or all_reduce, of unsigned chars in place
  std::int64_t count = 1;
  std::string entry = "auto";
};

/// How many elements came out wrong on all ranks, and how they came, without a map of the machine. Collective; throws
/// InputError, and RunError where MPI gives an error.
nlohmann::json check_large(const LargeRequest& request, MPI_Comm comm);

}  // namespace tessera::comm::programs
