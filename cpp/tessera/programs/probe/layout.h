// The hosts of the job, and the host of each rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/machine/machine.h"

namespace tessera::programs::probe {

struct HostLayout {
  std::vector<std::string> hosts;          // in the order of their first ranks
  std::vector<int> host_of_rank;           // index in hosts
  std::vector<machine::Machine> machines;  // by host; on rank 0 alone
  std::vector<int> kernels;                // by host, on rank 0: number of the operating system; -1: unknown

  int n_hosts() const { return static_cast<int>(hosts.size()); }
  /// Returns the rank that measures for a host, which is its first.
  int leader(int host) const;
  /// Returns another rank of the host; none where it has only one.
  std::optional<int> second(int host) const;
};

/// Finds the hosts of all ranks. Collective.
HostLayout find_layout(const comm::Communicator& comm);

}  // namespace tessera::programs::probe
