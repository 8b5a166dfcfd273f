// Building blocks of the classical entries: pieces of a vector, orders of ranks, and messages that are added to a plan.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/collectives/plan.h"
#include "tessera/collectives/registry.h"

namespace tessera::collectives {

/// A plan with more messages than this is refused, as deriving it would cost every rank seconds. A ring of 1,024 ranks
/// is just below the limit.
inline constexpr std::size_t most_messages = std::size_t{1} << 21;

class TooManyMessages : public std::length_error {
 public:
  explicit TooManyMessages(const std::string& entry);
};

/// Appends a message, unless it has no elements. A message of a rank to itself is a copy in its own memory. Throws
/// TooManyMessages.
void add(MessagePlan& plan, const PlannedMessage& message);
/// Appends a message from the sender's output to the same place of the receiver's output.
void send(MessagePlan& plan, int from, int to, const ElementRange& range, Effect effect);
void send(MessagePlan& plan, int from, int to, const std::vector<ElementRange>& ranges, Effect effect);

/// Returns the effect of a message that combines: what is received from a lower rank is the left operand. A barrier has
/// nothing to combine.
Effect combine(const CollectiveProblem& problem, int from, int to);

/// Tells whether results depend on the order of operands, so that partial results must be of neighbouring ranks.
bool keeps_rank_order(const CollectiveProblem& problem);
bool has_root(Operation operation);
/// Returns the root, or the central rank for an operation without a root.
int root_of(const CollectiveProblem& problem, const machine::Wires& wires);

/// Returns all elements of the output.
ElementRange whole(const CollectiveProblem& problem);
/// Cuts the whole vector into pieces of `parameters.segment` bytes, but at least one element.
std::vector<ElementRange> segments(const CollectiveProblem& problem, const Parameters& parameters);
/// Cuts a range into pieces of about `segment` bytes (0: one piece), as equal as possible; their number is a multiple
/// of `multiple` where there are enough of them. A range without elements has no pieces.
std::vector<ElementRange> pieces(const ElementRange& range, std::int64_t element_bytes, std::int64_t segment,
                                 std::int64_t multiple = 1);
/// Returns the block of each rank.
std::vector<ElementRange> blocks_of(const CollectiveProblem& problem);
/// Cuts the whole vector into nearly equal parts, one for each of `owners` in their order. The result is indexed by
/// rank, and empty for other ranks.
std::vector<ElementRange> split(const CollectiveProblem& problem, const std::vector<int>& owners);
/// Returns the same elements in as few ranges as possible, in rising order.
std::vector<ElementRange> runs(std::vector<ElementRange> ranges);

std::vector<int> rank_order(int n_ranks);
/// Returns the topology order seen from one rank: itself, then the ranks of its host, of its subnet, and so on
/// outwards.
std::vector<int> order_from(int rank, const machine::Wires& wires);

/// Returns `base` with each segment that is worth trying on a vector of this size, the best guess first.
std::vector<Parameters> with_segments(const CollectiveProblem& problem, const Parameters& base);
/// Describes a plan: "k_ary(degree 3, 64 KiB)".
std::string describe(const char* entry, std::initializer_list<std::string> details);
/// Returns the size of the pieces of a vector, "64 KiB"; empty for a vector that is not cut.
std::string segment_text(const Parameters& parameters);

}  // namespace tessera::collectives
