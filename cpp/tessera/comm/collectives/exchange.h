// Plans of an exchange in which every pair of ranks has blocks of its own sizes, all of them known: what all-to-all
// with counts can't know. Bytes; from the plan's input to its output.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/comm/collectives/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::comm::collectives {

/// What one rank has for another.
struct Block {
  int from = 0, to = 0;
  std::int64_t begin = 0;  // in the sender's input
  std::int64_t at = 0;     // in the receiver's output
  std::int64_t size = 0;
};

/// Each block straight to its rank, those of the slowest links first; pairs in the order of the network.
Plan plan_direct_exchange(std::vector<Block> blocks, const machine::Wires& wires);

/// All that the ranks of one host have for those of another goes in one message between two of them, which take turns;
/// blocks inside a host directly. Far fewer messages between hosts, for two more copies at either end.
Plan plan_gathered_exchange(std::vector<Block> blocks, const machine::Wires& wires);

}  // namespace tessera::comm::collectives
