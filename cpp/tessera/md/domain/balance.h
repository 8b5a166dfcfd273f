// Sharing cells between ranks by what they have cost. Whose cells are whose changes no bit, so this may follow the
// clock.
#pragma once

#include <optional>

#include "tessera/md/domain/domain.h"

namespace tessera::md::domain {

struct Balance {
  double imbalance = 1;                 // the longest work of a rank over the mean
  std::optional<Decomposition> better;  // where another would clearly be
};

/// `seconds`: what this rank has worked since it got its cells or since the last look. Collective.
Balance find_balance(const Domain& domain, double seconds, const comm::Communicator& comm);

}  // namespace tessera::md::domain
