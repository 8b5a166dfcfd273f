// What the classical entries are built from: pieces of a vector, orders of ranks, and messages added to a plan.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/comm/collectives/plan.h"
#include "tessera/comm/collectives/registry.h"

namespace tessera::comm::collectives {

/// Consecutive elements of a buffer.
struct Range {
  std::int64_t begin = 0;
  std::int64_t length = 0;

  std::int64_t end() const { return begin + length; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// A plan with more messages than this is refused: deriving it would cost every rank seconds. A ring of 1,024 ranks
/// just fits.
inline constexpr std::size_t most_messages = std::size_t{1} << 21;

class TooManyMessages : public std::length_error {
 public:
  explicit TooManyMessages(const std::string& entry);
};

/// Appends a message. Nothing is sent for no elements. A message of a rank to itself is a copy in its own memory.
/// Throws TooManyMessages.
void add(Plan& plan, const Message& message);
/// From the sender's output to the same place of the receiver's.
void send(Plan& plan, int from, int to, const Range& range, Effect effect);
void send(Plan& plan, int from, int to, const std::vector<Range>& ranges, Effect effect);

/// What is received from a lower rank is the left operand. A barrier has nothing to combine.
Effect combine(const Problem& problem, int from, int to);

/// Whether results depend on the order of operands, so that partial results must be of neighbouring ranks.
bool keeps_rank_order(const Problem& problem);
bool has_root(Operation operation);
/// The root; of rootless operations the central rank.
int root_of(const Problem& problem, const machine::Wires& wires);

/// All elements of the output.
Range whole(const Problem& problem);
/// The whole vector in pieces of `parameters.segment` bytes, and at least one element.
std::vector<Range> segments(const Problem& problem, const Parameters& parameters);
/// A range in pieces of about `segment` bytes (0: whole), as equal as can be; in a multiple of `multiple` where there
/// are enough of them. None of no elements.
std::vector<Range> pieces(const Range& range, std::int64_t element_bytes, std::int64_t segment,
                          std::int64_t multiple = 1);
/// The block of each rank.
std::vector<Range> blocks_of(const Problem& problem);
/// The whole vector cut into nearly equal parts, one for each of `owners` in their order; indexed by rank, empty for
/// others.
std::vector<Range> split(const Problem& problem, const std::vector<int>& owners);
/// The same elements in as few ranges as possible, in rising order.
std::vector<Range> runs(std::vector<Range> ranges);

std::vector<int> rank_order(int n_ranks);
/// Topology order seen from one rank: itself, then those of its host, of its subnet, and so on outwards.
std::vector<int> order_from(int rank, const machine::Wires& wires);

/// `base` with each segment worth trying on a vector of this size, the best guess first.
std::vector<Parameters> with_segments(const Problem& problem, const Parameters& base);
/// "k_ary(degree 3, 64 KiB)".
std::string describe(const char* entry, std::initializer_list<std::string> details);
/// "64 KiB"; empty for a vector that is not cut.
std::string segment_text(const Parameters& parameters);

}  // namespace tessera::comm::collectives
