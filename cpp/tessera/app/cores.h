// Says at the start of a run where threads share cores, and where cores of the job idle.
#pragma once

#include <string>
#include <vector>

#include "tessera/comm/communicator.h"

namespace tessera::app {

/// A rank's place: its host, and the cores on which the system lets it run.
struct RankPlace {
  std::string host;
  std::vector<int> cores;  // ascending; empty: not known
  int threads = 1;
};

/// Returns one line where the threads of a rank, or of all ranks of a host, are more than their cores, or fewer than
/// `cores_of_rank` that the job asked for (0: not known); empty where they are neither.
std::string note_of_cores(const std::vector<RankPlace>& ranks, int cores_of_rank);

/// Returns the same for this job; on the root alone, empty elsewhere. Collective.
std::string note_of_cores(const comm::Communicator& comm, int threads);

}  // namespace tessera::app
