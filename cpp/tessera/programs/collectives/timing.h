// Measures how long collectives take, entries of the registry side by side.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::programs {

struct TimingRequest {
  std::string map;  // file; empty: the hosts that ranks run on as one switch
  std::string operation = "all_reduce";
  /// Bytes of the vector for broadcast, reduce, all_reduce, scan, exscan; of what goes from one rank to another for
  /// all_to_all; and of the blocks of all ranks together, which are as equal as possible, for all others.
  std::int64_t bytes = 8;
  std::string elements = "double";
  int root = 0;
  int repeats = 5;
  /// "auto", "native", or an entry, with what is to be chosen in it: "k_ary:degree=3", "subnets:pattern=chain+star".
  std::vector<std::string> entries{"auto", "native"};
  bool uses_trials = true;    // of the map
  std::string order = "job";  // or "shuffle:SEED": ranks scattered over hosts
};

/// Measures the times of entries in turns, one of each in every repeat. A time is that of the slowest rank, from a
/// barrier in which waiting ranks sleep. The result is valid on rank 0. Throws InputError. Collective.
nlohmann::json time_entries(const TimingRequest& request, MPI_Comm comm);

/// Returns 0 where there are no values.
double median_of(std::vector<double> values);

}  // namespace tessera::programs
