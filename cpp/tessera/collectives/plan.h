// A collective operation as a plan: one list of messages in an order in which they could be sent one by one. The same
// list is what ranks execute (comm/mpi), what the model prices (predict.h) and what tests interpret without MPI.
//
// All ranks derive the same list from (problem, machine). A rank executes those that it sends or receives, each as soon
// as the earlier ones that touch the same elements on that rank are done; messages on different elements overlap, so a
// vector cut into segments is pipelined through a tree by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::collectives {

enum class Operation {
  barrier,
  broadcast,
  scatter,
  gather,
  all_gather,
  all_to_all,
  reduce,
  all_reduce,
  reduce_scatter,
  scan,
  exscan
};

/// The vectors of a rank, in elements of the operation's datatype. Which is which by operation:
///   barrier         output: one element of no bytes, whose dependencies order the messages
///   broadcast       output: the one block
///   reduce, all_reduce, scan, exscan   output: one block; starts as the rank's own contribution
///   reduce_scatter  output: all blocks; starts as the rank's contribution; block r of rank r is its result
///   scatter, gather, all_gather        output: all blocks by rank; starts with what the rank has to give (scatter: all
///                   blocks on the root; else block r of rank r)
///   all_to_all      input: block d goes to rank d; output: block s came from rank s (own block is copied beforehand)
/// `scratch` is storage of the plan's own, `MessagePlan::scratch` elements a rank. A message of a rank to itself is
/// done in its own memory, with the same effects.
enum class Buffer : std::uint8_t { input, output, scratch };

/// Says what the receiver does with a message: it puts the elements in place, or combines them with those that are
/// there, as the left or the right operand (which matters where the operation does not commute).
enum class Effect : std::uint8_t { replace, combine_left, combine_right };

/// A range of consecutive elements of a buffer.
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t length = 0;

  std::int64_t end() const { return begin + length; }
  bool is_empty() const { return length <= 0; }
  bool contains(const ElementRange& other) const {
    return other.is_empty() || (begin <= other.begin && other.end() <= end());
  }
  /// Extends the range so that it contains another one, too.
  void include(const ElementRange& other);
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

struct PlannedMessage {
  int from = 0;
  int to = 0;
  Effect effect = Effect::replace;
  Buffer source = Buffer::output;
  Buffer target = Buffer::output;
  std::int64_t begin = 0;   // first element in the sender's buffer
  std::int64_t at = 0;      // first element in the receiver's buffer
  std::int64_t length = 0;  // elements

  friend bool operator==(const PlannedMessage&, const PlannedMessage&) = default;
};

struct CollectiveProblem {
  Operation operation = Operation::barrier;
  int n_ranks = 1;
  int root = 0;
  std::vector<std::int64_t> blocks;  // elements of each block: one, or one a rank (all_to_all: of one pair, all alike)
  std::int64_t element_bytes = 1;
  bool commutative = true;

  /// Returns the first element of each block and, at the end, the number of all elements.
  std::vector<std::int64_t> offsets() const;
  bool reduces() const;
  friend bool operator==(const CollectiveProblem&, const CollectiveProblem&) = default;
};

struct MessagePlan {
  std::string entry;  // name in the registry, with its parameters: "subnets(chain, 16 KiB)"
  std::vector<PlannedMessage> messages;
  std::int64_t scratch = 0;  // elements
  int window = 0;   // messages of a rank under way at once, until their receivers have taken them; 0: any number
  int horizon = 0;  // a rank sends no message before all but so many of its earlier actions are done; 0: no limit
  /// These numbers of messages at the beginning and at the end of the plan stay inside hosts and stand for the MPI
  /// library's own collectives there: the model prices them and tests interpret them, but ranks call the library
  /// instead.
  std::size_t n_collected = 0, n_distributed = 0;

  bool is_hierarchical() const { return n_collected + n_distributed > 0; }
  friend bool operator==(const MessagePlan&, const MessagePlan&) = default;
};

/// Turns a whole plan into bytes, for the ranks of a job that did not make it, and such bytes into the plan.
std::vector<std::byte> serialise(const MessagePlan& plan);
MessagePlan deserialise(std::span<const std::byte> bytes);

/// One message as an action of a rank. Message i of a pair of ranks carries tag i, so that messages may overtake each
/// other.
struct Action {
  PlannedMessage message;
  int tag = 0;                  // number of earlier messages between these two in this direction
  std::vector<int> depends_on;  // indices of earlier actions of this rank
};

/// Returns the actions of one rank in the order of the plan, with dependencies from overlaps: a read waits for earlier
/// writes, a write for earlier reads and writes of the same elements of the same buffer.
std::vector<Action> actions_of(const MessagePlan& plan, int rank);

/// Returns the plan without the messages that stay inside hosts.
MessagePlan between_hosts(MessagePlan plan);

/// Tells whether each rank has a block of its own, of any size, as in all-gather and reduce-scatter.
bool has_blocks_by_rank(Operation operation);
const char* name_of(Operation operation);

}  // namespace tessera::collectives
