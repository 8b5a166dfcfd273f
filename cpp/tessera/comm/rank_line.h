// Ranks in a line along the network, so that consecutive pieces of what is divided go to ranks that are joined by fast
// links.
#pragma once

#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/machine/wires.h"

namespace tessera::comm {

/// The ranks of a host are consecutive, so are those of a leaf subnet, and so on.
struct RankLine {
  std::vector<int> rank;   // at each place
  std::vector<int> level;  // between a place and the one before, as Wires::level (0: the same host); [0] is 0

  int size() const { return static_cast<int>(rank.size()); }
  /// Returns the host of each rank; hosts are numbered in the order of the line.
  std::vector<int> host_of_rank() const;

  /// Returns ranks in the order of their numbers, as on one host.
  static RankLine as_numbered(int n_ranks);
  static RankLine along(const machine::Wires& wires);
};

struct AgreedLine {
  RankLine line;
  std::string source;  // for people: what the network is known from
};

/// Returns the line of all ranks, by wires_of_ranks, which is the same on all. Throws InputError as that function does.
/// Collective.
AgreedLine agree_on_line(const Communicator& comm, const std::string& machine_file);

}  // namespace tessera::comm
