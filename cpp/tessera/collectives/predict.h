// Predicts the time of a plan: every message occupies the wires of its path, first come first served, and starts when
// the messages that it depends on have arrived.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/collectives/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::collectives {

/// MPI libraries send messages of up to so many bytes over TCP at once; before longer ones they ask the receiver.
inline constexpr std::int64_t most_unasked = 65000;

/// s. Ranks of hosts that share processors take turns, each for so long. A short burst of work is over before this
/// matters; once the processors have been busy for half a round of all these ranks, a message to one of them waits for
/// a round. The value follows from times of reductions on 32 ranks and two cores (docs/guide/collectives.md).
inline constexpr double slice_of_a_rank = 8e-4;

struct PlanPrediction {
  double seconds = 0;             // until the last rank is done
  std::vector<double> wire_busy;  // s, of each wire; the largest is the bound of this plan
  std::vector<double> done;       // s, of each message: when it has arrived
};

/// Predicts the time of a plan, but gives up on one that takes longer than `limit` (s): then `seconds` is more than the
/// limit and less than the plan takes.
PlanPrediction predict(const MessagePlan& plan, const CollectiveProblem& problem, const machine::Wires& wires,
                       double limit = std::numeric_limits<double>::infinity());

/// Returns the time (s) for which the busiest wire is occupied, which no plan can undercut. This is far quicker than
/// `predict`.
double least_seconds(const MessagePlan& plan, const CollectiveProblem& problem, const machine::Wires& wires);

}  // namespace tessera::collectives
