// What this host has of GPUs, for `tessera doctor`.
#pragma once

#include <string>

namespace tessera::app {

/// Returns as JSON what the driver has, or why there is none ("error"); of each device whether the fat binaries beside
/// this program have code for it ("error", empty where they do).
std::string devices_to_json();

}  // namespace tessera::app
