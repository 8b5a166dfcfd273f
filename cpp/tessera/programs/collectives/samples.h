// Sample networks exist only as values, so that ranks of one host can carry out plans for them.
#pragma once

#include <string>
#include <vector>

#include "tessera/machine/network.h"

namespace tessera::programs {

struct SampleNetwork {
  machine::Network network;
  std::vector<std::string> hosts;  // of each rank, by name
};

/// Returns "switch": two ranks a host, side by side; "racks": two racks with a thin link, ranks scattered over hosts;
/// "segments": three bridged Ethernets; or "quads": hosts in fours behind a slower switch. Throws InputError for other
/// names.
SampleNetwork sample_network(const std::string& name, int n_ranks);

}  // namespace tessera::programs
