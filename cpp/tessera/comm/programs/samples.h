// Networks that exist only as values, so that the plans for them can be carried out by ranks of one host.
#pragma once

#include <string>
#include <vector>

#include "tessera/machine/network.h"

namespace tessera::comm::programs {

struct Sample {
  machine::Network network;
  std::vector<std::string> hosts;  // of each rank, by name
};

/// "switch": two ranks a host, side by side; "racks": two racks with a thin link, ranks scattered over hosts;
/// "segments": three bridged Ethernets; "quads": hosts in fours behind a slower switch. Throws InputError for others.
Sample sample_network(const std::string& name, int n_ranks);

}  // namespace tessera::comm::programs
