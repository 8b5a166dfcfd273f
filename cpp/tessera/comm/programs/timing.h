// How long collectives take, entries of the registry side by side.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::comm::programs {

struct TimingRequest {
  std::string map;  // file; empty: the hosts that ranks run on as one switch
  std::string operation = "all_reduce";
  /// Of broadcast, reduce, all_reduce, scan, exscan: the vector; of all_to_all: what goes from one rank to another; of
  /// all others: the blocks of all ranks together, which they share as evenly as can be.
  std::int64_t bytes = 8;
  std::string elements = "double";
  int root = 0;
  int repeats = 5;
  /// "auto", "native", or an entry, with what is to be chosen in it: "k_ary:degree=3", "subnets:pattern=chain+star".
  std::vector<std::string> entries{"auto", "native"};
  bool uses_trials = true;    // of the map
  std::string order = "job";  // or "shuffle:SEED": ranks scattered over hosts
};

/// In every repeat each entry has one turn; a time is that of the slowest rank, from a barrier in which waiting ranks
/// sleep. Collective; the result counts on rank 0. Throws InputError.
nlohmann::json time_entries(const TimingRequest& request, MPI_Comm comm);

/// 0 of nothing.
double median_of(std::vector<double> values);

}  // namespace tessera::comm::programs
