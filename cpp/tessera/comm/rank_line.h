// Ranks in a line along the network: what is cut into pieces goes to ranks that are joined well.
#pragma once

#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/machine/wires.h"

namespace tessera::comm {

/// The ranks of a host stand together, then those of a leaf subnet, and so on.
struct RankLine {
  std::vector<int> rank;   // at each place
  std::vector<int> level;  // between a place and the one before, as Wires::level (0: the same host); [0] is 0

  int size() const { return static_cast<int>(rank.size()); }
  /// By rank, hosts numbered in the order of the line.
  std::vector<int> host_of_rank() const;

  /// Ranks as they are numbered, as on one host.
  static RankLine as_numbered(int n_ranks);
  static RankLine along(const machine::Wires& wires);
};

struct AgreedLine {
  RankLine line;
  std::string source;  // for people: what the network is known from
};

/// The line of all ranks, by wires_of_ranks, the same on all. Throws InputError as that does. Collective.
AgreedLine agree_on_line(const Communicator& comm, const std::string& machine_file);

}  // namespace tessera::comm
