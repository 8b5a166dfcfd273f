// Lays a grid out over the ranks of a communicator by the map of the machine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tessera/comm/communicator.h"
#include "tessera/grid/layout.h"
#include "tessera/machine/wires.h"

namespace tessera::grid {

/// A layout that all ranks share, and the network under it.
struct DistributedLayout {
  GridLayout layout;
  std::shared_ptr<const machine::Wires> wires;  // on rank 0
};

/// Plans a layout (plan_layout) on rank 0 with the network of a machine file, or that of the ranks' hosts without one.
/// Throws InputError on all ranks. Collective.
DistributedLayout distribute(const comm::Communicator& comm, const Index3& shape,
                             const std::array<bool, 3>& is_periodic, const std::optional<Index3>& processes,
                             const std::string& machine_file);

}  // namespace tessera::grid
