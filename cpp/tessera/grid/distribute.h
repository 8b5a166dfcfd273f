// Lays a grid out over the ranks of a communicator by the map of the machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/grid/choice/choose.h"
#include "tessera/grid/halo.h"
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

/// What is known of a stencil's use when its operator is made.
struct ChoiceRequest {
  std::vector<std::string_view> approaches{"flat-optimized"};  // of which one is chosen
  std::int64_t fields = 64;                                    // that are given at once
  int threads = 1;                                             // of a rank
  CoreRates rates;
};

/// Chooses the approach, batch and slope of least predicted time (choice/choose.h) on rank 0 for all ranks. `bytes`: of
/// a point. Collective.
Choice agree_on_choice(const comm::Communicator& comm, const DistributedLayout& grid, const HaloShape& shape,
                       std::int64_t bytes, const ChoiceRequest& request);

}  // namespace tessera::grid
