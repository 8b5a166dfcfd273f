// A collective operation as a plan: one list of messages in an order in which they could be sent one by one. The same
// list is what ranks execute (comm/mpi), what the model prices (predict.h) and what tests interpret without MPI.
//
// All ranks derive the same list from (problem, machine). A rank executes those that it sends or receives, each as soon
// as the earlier ones that touch the same elements on that rank are done; messages on different elements overlap, so a
// vector cut into segments is pipelined through a tree by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::comm::collectives {

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
/// `scratch` is storage of the plan's own, `Plan::scratch` elements a rank. A message of a rank to itself is done in
/// its own memory, with the same effects.
enum class Buffer : std::uint8_t { input, output, scratch };

/// What the receiver does with a message: put it in place, or combine it with what is there as the left or the right
/// operand (which matters where the operation does not commute).
enum class Effect : std::uint8_t { replace, combine_left, combine_right };

struct Message {
  int from = 0;
  int to = 0;
  Effect effect = Effect::replace;
  Buffer source = Buffer::output;
  Buffer target = Buffer::output;
  std::int64_t begin = 0;   // first element in the sender's buffer
  std::int64_t at = 0;      // first element in the receiver's buffer
  std::int64_t length = 0;  // elements

  friend bool operator==(const Message&, const Message&) = default;
};

struct Problem {
  Operation operation = Operation::barrier;
  int n_ranks = 1;
  int root = 0;
  std::vector<std::int64_t> blocks;  // elements of each block: one, or one a rank (all_to_all: of one pair, all alike)
  std::int64_t element_bytes = 1;
  bool commutative = true;

  /// First element of each block and, last, the number of all elements.
  std::vector<std::int64_t> offsets() const;
  bool reduces() const;
  friend bool operator==(const Problem&, const Problem&) = default;
};

struct Plan {
  std::string entry;  // name in the registry, with its parameters: "subnets(chain, 16 KiB)"
  std::vector<Message> messages;
  std::int64_t scratch = 0;  // elements
  int window = 0;   // messages of a rank under way at once, until their receivers have taken them; 0: any number
  int horizon = 0;  // a rank sends no message before all but so many of its earlier actions are done; 0: no limit
  /// The first and the last so many messages stay inside hosts and stand for what the MPI library's own collectives do
  /// there: the model prices them and tests interpret them, but ranks call the library.
  std::size_t n_collected = 0, n_distributed = 0;

  bool is_hierarchical() const { return n_collected + n_distributed > 0; }
};

/// A rank's part of a plan. Message i of a pair of ranks carries tag i, so that messages may overtake each other.
struct Action {
  Message message;
  int tag = 0;                  // the how-manyth message between these two in this direction
  std::vector<int> depends_on;  // indices of earlier actions of this rank
};

/// The actions of one rank in plan order, with dependencies from overlaps: a read waits for earlier writes, a write for
/// earlier reads and writes, of the same elements of the same buffer.
std::vector<Action> actions_of(const Plan& plan, int rank);

/// Without what stays inside hosts.
Plan between_hosts(Plan plan);

/// Whether each rank has a block of its own of the vector, of any size: all-gather and reduce-scatter.
bool has_blocks_by_rank(Operation operation);
const char* name_of(Operation operation);

}  // namespace tessera::comm::collectives
