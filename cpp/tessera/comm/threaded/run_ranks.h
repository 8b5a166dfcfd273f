// Ranks as threads of one process, on hosts of any names: with this backend unit tests (and sanitizers) run what needs
// several ranks, without MPI.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Runs `work` on as many ranks as there are names; rank r is on the host hosts[r]. The first exception of any rank is
/// thrown again when all have ended; a rank that throws must not leave others waiting for it. The function may not be
/// called from within `work`.
void run_ranks(const std::vector<std::string>& hosts, const std::function<void(const Communicator&)>& work);

/// Runs `work` on so many ranks of one host.
void run_ranks(int n, const std::function<void(const Communicator&)>& work);

}  // namespace tessera::comm
