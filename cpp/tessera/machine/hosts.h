// Which host of a network each rank of a job runs on, by names.
#pragma once

#include <string>
#include <vector>

#include "tessera/machine/network.h"

namespace tessera::machine {

/// Between hosts that nobody measured: Ethernet of 1 Gbit/s.
inline constexpr Link unmeasured_between{50e-6, 1.2e8};

/// The hosts of these ranks as one switch, for when nothing was measured. `names`: of the host of each rank.
Network network_of(const std::vector<std::string>& names, Link link = unmeasured_between);

/// The host of each rank by its name, or by what stands before the first dot where that is unique. Throws InputError:
/// hosts that the network lacks.
std::vector<int> find_hosts(const std::vector<std::string>& names, const Network& network);

}  // namespace tessera::machine
