// Which rank of the job is on which host, and what the hosts are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/machine/machine.h"

namespace tessera::comm::probe {

struct Layout {
  std::vector<std::string> hosts;          // in the order of their first ranks
  std::vector<int> host_of_rank;           // index in hosts
  std::vector<machine::Machine> machines;  // by host; on rank 0 alone
  std::vector<int> kernels;                // by host, on rank 0: number of the operating system; -1: unknown

  int n_hosts() const { return static_cast<int>(hosts.size()); }
  /// The rank that measures for a host: its first.
  int leader(int host) const;
  /// Another rank of the host; none where it has only one.
  std::optional<int> second(int host) const;
};

/// Collective.
Layout find_layout(const Communicator& comm);

}  // namespace tessera::comm::probe
