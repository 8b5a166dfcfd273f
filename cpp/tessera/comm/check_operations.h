// For tests: carries out every collective operation of a communicator on values for which any rank knows the results.
#pragma once

#include <string>
#include <vector>

#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Returns the names of the operations whose results are wrong on this rank. Collective.
std::vector<std::string> wrong_operations(const Communicator& comm);

}  // namespace tessera::comm
