// Records what was tried on the machine: a collective, its measured time beside the predicted one; messages beside
// computing.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::machine {

struct Trial {
  std::string library;  // MPI library and version, such as "Open MPI v4.1.4"
  std::string operation;
  int n_ranks = 0;
  std::int64_t bytes = 0;  // of all blocks together
  std::string entry;       // with parameters, "subnets:segment=8192:pattern=chain"; "native": the library's own
  double predicted = 0;    // s, by the model
  double seconds = 0;      // s, median of the slowest rank's times
  double least_gain = 0;   // lower confidence bound of the library's time over this one's; 0: not known
  std::string placement;   // of the ranks on hosts (placement_of); empty: they fill slots host after host

  friend bool operator==(const Trial&, const Trial&) = default;
};

/// How far messages progressed while ranks computed, as `tessera grid bench` measured it.
struct MessageOverlap {
  int n_ranks = 0;
  int threads = 0;   // of a rank
  double share = 0;  // of computing, 0 … 1

  friend bool operator==(const MessageOverlap&, const MessageOverlap&) = default;
};

}  // namespace tessera::machine
