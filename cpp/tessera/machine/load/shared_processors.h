// What is assumed of hosts that one operating system runs (containers, virtual networks) where a map says nothing of it:
// the messages of all of them are the work of the same processors.
#pragma once

#include <span>
#include <string>

#include "tessera/machine/network.h"

namespace tessera::machine {

/// This work is assumed at each end of a message where it was not measured: what two cores of a Zen 4 need (18–29 µs, and
/// 1 s for each 139–147 MB). Without any, plans of many messages would seem to cost no more than those of few.
inline constexpr Link unmeasured_work = {2e-5, 1.4e8};

/// Returns a text that is the same in all hosts that the operating system of this one runs; empty where it doesn't say.
std::string operating_system();

/// Adds the processors that hosts share by `system_of_rank`, the texts of operating_system() on the ranks of a job, to a
/// network that has none for these hosts. Hosts without ranks are left out.
void add_shared_processors(Network& network, std::span<const int> host_of_rank,
                           std::span<const std::string> system_of_rank);

}  // namespace tessera::machine
