// Shares cells between ranks by their measured cost. Which rank owns a cell does not change a bit of the result, so the
// shares may depend on timings.
#pragma once

#include <optional>

#include "tessera/md/domain/domain.h"

namespace tessera::md::domain {

struct Balance {
  double imbalance = 1;                 // the longest time of a rank divided by the mean
  std::optional<Decomposition> better;  // a decomposition that is clearly better, if there is one
};

/// Takes the seconds that this rank has worked since it got its cells or since the last call. Collective.
Balance find_balance(const Domain& domain, double seconds, const comm::Communicator& comm);

}  // namespace tessera::md::domain
