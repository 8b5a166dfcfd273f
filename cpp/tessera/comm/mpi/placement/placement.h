// Where the ranks of a job are in the network.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/wires.h"

namespace tessera::comm::mpi {

/// The hosts of the ranks of each of some groups.
using GroupsAtOnce = std::vector<std::vector<int>>;

/// The hosts of the ranks of one communicator, usually the world, from which the hosts of any group of these ranks follow
/// without a message.
class Placement {
 public:
  /// Finds the hosts of the ranks of `comm` in the network by their names: `host`, or what MPI says where it is empty.
  /// Without a network, hosts are alike on one switch. The traffic of others is measured for so many seconds, and
  /// replaces that of the network; 0: not. Collective.
  Placement(MPI_Comm comm, std::shared_ptr<const machine::Network> network, const std::string& host = {},
            double seconds_for_traffic = 0);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  /// Says why the network is not used, in one line that is the same on all ranks: ranks have different maps, or are on
  /// hosts that it does not have. It is empty where the network is used, or where there is none.
  const std::string& warning() const { return warning_; }
  /// Tells whether there is a network and these ranks are on it.
  bool is_measured() const { return is_measured_; }
  /// Returns the index in the network of each rank's host; none where there is a warning.
  const std::vector<int>& host_of_rank() const { return host_of_rank_; }
  /// Returns the network with its traffic; null where there is a warning.
  const machine::Network* network() const { return network_.get(); }
  /// Returns the wires of the ranks of a communicator; none where some are not among those that were placed, where it
  /// joins two groups, or where `warning` says why. The other groups do as much at the same time. Not collective.
  std::optional<machine::Wires> wires_of(MPI_Comm comm, const GroupsAtOnce& others = {}) const;
  /// Returns the hosts of the groups that a communicator was divided into, but this rank's own, `part`, which may be
  /// null; none where `wires_of` returns none. Collective over the whole.
  GroupsAtOnce groups_at_once(MPI_Comm whole, MPI_Comm part) const;

 private:
  std::optional<std::vector<int>> hosts_of(MPI_Comm comm) const;

  std::shared_ptr<const machine::Network> network_;  // null where there is a warning
  std::vector<int> host_of_rank_;
  MPI_Group ranks_ = MPI_GROUP_NULL;
  std::string warning_;
  bool is_measured_ = false;
};

}  // namespace tessera::comm::mpi
