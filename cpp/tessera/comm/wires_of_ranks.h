// The network under the ranks of a communicator.
#pragma once

#include <memory>
#include <string>

#include "tessera/comm/communicator.h"
#include "tessera/machine/wires.h"

namespace tessera::comm {

struct RankWires {
  std::shared_ptr<const machine::Wires> wires;  // on rank 0, which chooses for all; null elsewhere
  std::string source;                           // where they are from, for people: "the map cluster.json"; on rank 0
  bool is_measured = false;                     // on rank 0
};

/// Finds the network in a machine file, which rank 0 reads, with the processors that hosts share here where the file says
/// nothing of these (machine/load/shared_processors.h). Without a file (an empty path) the ranks are on one host,
/// or their hosts are on one switch with an assumed link. One rank alone, whose host need not be in the file, is on one
/// host. Throws InputError on all ranks for a file that can't be read, holds no network or lacks hosts of these ranks.
/// Collective.
RankWires wires_of_ranks(const Communicator& comm, const std::string& machine_file);

}  // namespace tessera::comm
