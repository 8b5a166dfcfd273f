// The time of a plan by the model: every message occupies the wires on its way, first come first served; it starts when
// the messages that it depends on have arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/comm/collectives/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::comm::collectives {

/// Bytes of a message that MPI libraries send over TCP at once; of longer ones they ask the receiver first.
inline constexpr std::int64_t most_unasked = 65000;

struct Prediction {
  double seconds = 0;             // until the last rank is done
  std::vector<double> wire_busy;  // s, of each wire; the largest is the bound of this plan
};

Prediction predict(const Plan& plan, const Problem& problem, const machine::Wires& wires);

}  // namespace tessera::comm::collectives
