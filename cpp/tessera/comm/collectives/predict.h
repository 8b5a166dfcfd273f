// The time of a plan by the model: every message occupies the wires on its way, first come first served; it starts when
// the messages that it depends on have arrived.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/comm/collectives/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::comm::collectives {

/// Bytes of a message that MPI libraries send over TCP at once; of longer ones they ask the receiver first.
inline constexpr std::int64_t most_unasked = 65000;

/// s: ranks of hosts that share processors take turns, each for so long. A burst of work is over before that is felt;
/// once the processors have been busy for half a round of all these ranks, a message to one of them waits for a round.
/// From times of reductions on 32 ranks and two cores (docs/guide/collectives.md).
inline constexpr double slice_of_a_rank = 8e-4;

struct Prediction {
  double seconds = 0;             // until the last rank is done
  std::vector<double> wire_busy;  // s, of each wire; the largest is the bound of this plan
  std::vector<double> done;       // s, of each message: when it has arrived
};

/// Gives up on a plan that takes longer than `limit` (s); then `seconds` is more than that, and less than it takes.
Prediction predict(const Plan& plan, const Problem& problem, const machine::Wires& wires,
                   double limit = std::numeric_limits<double>::infinity());

/// s, of the busiest wire: a plan can't take less. Far quicker than `predict`.
double least_seconds(const Plan& plan, const Problem& problem, const machine::Wires& wires);

}  // namespace tessera::comm::collectives
