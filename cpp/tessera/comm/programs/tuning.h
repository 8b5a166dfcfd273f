// A short trial of collectives on the machine that they are to run on: what the model promises most of, beside the MPI
// library's own. What they took is kept in the map and corrects what is predicted from it (choose.h).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::comm::programs {

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

/// Small sizes first, so that what the time does not suffice for is what takes longest. Collective; the result counts
/// on rank 0, which writes the map. Throws InputError, on all ranks alike: a map that is no use, an unknown operation.
nlohmann::json tune(const TuningRequest& request, MPI_Comm comm);

}  // namespace tessera::comm::programs
