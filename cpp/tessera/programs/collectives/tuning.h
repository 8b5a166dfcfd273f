// A short trial of collectives on the machine on which they are to run: the entries with the least predicted times
// beside the MPI library's own. Their times are kept in the map and correct what is predicted from it (choose.h).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::programs {

struct TuningRequest {
  std::string map;     // file
  std::string output;  // file; may be the same
  std::vector<std::string> operations{"broadcast",  "all_reduce", "reduce_scatter", "all_gather",
                                      "all_to_all", "reduce",     "barrier"};
  std::vector<std::int64_t> sizes{1024, 16384, 131072,
                                  1048576};  // bytes, as TimingRequest::bytes; all_to_all: a pair's
  double seconds = 120;                      // that all of it may take, about
  int candidates = 3;                        // of each operation and size
};

/// Tries small sizes first, so that the sizes that take longest are left out where time is short. The result is valid
/// on rank 0, which writes the map. Throws InputError, on all ranks alike, for a map that can't be used or an unknown
/// operation. Collective.
nlohmann::json tune(const TuningRequest& request, MPI_Comm comm);

}  // namespace tessera::programs
