// Carries out one rank's part of a plan with messages of MPI. Every action starts as soon as those that it depends on
// are done; of several that may start, the earliest of the plan comes first.
//
// Execution can't block for good where the plan is sound: the first action that is not done on a rank may always start,
// whatever the limits, so the first message of the plan that is not done anywhere can be sent and received. Libraries
// do not buffer any number of unexpected messages either: libfabric's TCP provider, on which MPICH stands, reads no
// more from a neighbour once 64 of them have come. So no more than Limits::ahead messages to a neighbour are sent
// before one that comes earlier in the plan.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/collectives/plan.h"
#include "tessera/comm/mpi/datatype.h"

namespace tessera::comm::mpi {

using collectives::Action;
using collectives::Buffer;
using collectives::ElementRange;

/// The actions of a rank, ready to be executed any number of times.
class Schedule {
 public:
  Schedule(const collectives::MessagePlan& plan, int rank);
  /// Takes the actions of a plan of which only this part is known.
  Schedule(std::vector<Action> actions, int rank);

  /// Returns the range of a buffer that the rank reads or writes; written() the range that it writes.
  const ElementRange& touched(Buffer buffer) const { return touched_[static_cast<std::size_t>(buffer)]; }
  const ElementRange& written(Buffer buffer) const { return written_[static_cast<std::size_t>(buffer)]; }

 private:
  friend class Executor;
  enum class Role : std::uint8_t { send, receive, combine, copy, nothing };  // combine: receive, then combine

  std::vector<Action> actions_;
  std::vector<Role> roles_;
  std::vector<int> n_waits_;            // of each action
  std::vector<int> first_, followers_;  // actions that wait for action i: followers_[first_[i]] … [first_[i + 1] − 1]
  std::vector<std::vector<int>> sends_;  // by neighbour: the sends to it
  std::vector<int> neighbour_;           // of each send: its neighbour
  std::array<ElementRange, 3> touched_, written_;
  std::int64_t longest_combined_ = 0;  // elements of a message that is combined
  int window_ = 0, horizon_ = 0;
};

/// Addresses of element 0 of a rank's buffers.
struct BufferAddresses {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
};

struct Reduction {
  MPI_Op operation = MPI_OP_NULL;
  bool is_commutative = true;
};

/// The numbers of messages and bytes that may be under way at once.
struct Limits {
  int receives = 64;
  int sends = 64;
  int ahead = 32;                         // sends to a neighbour before an earlier one
  std::int64_t landing_bytes = 16 << 20;  // storage of messages that wait to be combined
  std::int64_t piece = largest_count;     // elements; longer messages are cut
  int tags = 0;                           // 0: as many as the library has
};

class Executor {
 public:
  /// Makes an executor on `comm`, which carries no other messages and whose error handler must return.
  Executor(MPI_Comm comm, const Limits& limits);

  /// Executes a schedule and returns an MPI error code. After an error, messages may still be under way.
  int execute(const Schedule& schedule, const BufferAddresses& vectors, const Element& element,
              const Reduction& reduction);
  /// Copies elements on this rank; ranges may not overlap.
  int copy(const std::byte* from, std::byte* to, std::int64_t count, const Element& element);

 private:
  using Role = Schedule::Role;

  void begin(const Schedule& schedule);
  void make_ready(int action);
  void finish(int action);
  int do_local_work();
  int start_messages(std::vector<int>& ready, bool are_sends);
  int start_piece(int action);
  bool may_go_ahead(int action) const;
  void note_start(int action);
  int wait();
  int combine(const std::byte* from, const collectives::PlannedMessage& message, bool from_is_ours);
  int reduce(const std::byte* left, std::byte* right, std::int64_t count);
  void abandon();
  std::byte* address(Buffer buffer, std::int64_t element) const;
  std::byte* landing(int slot);

  MPI_Comm comm_;
  Limits limits_;
  int rank_ = 0;

  // of the execution under way; kept for their storage
  const Schedule* schedule_ = nullptr;
  BufferAddresses vectors_;
  Element element_;
  Reduction reduction_;
  std::vector<int> waits_;                         // of each action: for how many it still waits
  std::vector<char> is_done_;                      // of each action
  std::vector<int> slot_;                          // of each action: its place in the landing storage; -1: none
  std::vector<char> has_arrived_;                  // of each action that combines
  std::vector<std::int64_t> sent_;                 // of each action: elements in pieces that are done or under way
  std::vector<int> ready_sends_, ready_receives_;  // heaps, the earliest action on top
  std::vector<char> is_started_;                   // of each send
  std::vector<std::size_t> n_started_in_order_;    // of each neighbour's sends
  std::vector<int> n_ahead_;                       // of each neighbour's sends: started before an earlier one
  std::vector<std::vector<int>> held_;             // by neighbour: ready sends that would go too far ahead
  std::vector<int> local_;                         // copies and combinations that can be done now
  std::vector<MPI_Request> requests_;              // under way
  std::vector<int> owners_;                        // of each request: its action
  std::vector<int> completed_;                     // places in requests_, from MPI
  std::vector<MPI_Status> statuses_;
  std::vector<int> free_slots_;
  Storage landing_;
  std::byte* landing_base_ = nullptr;
  std::int64_t slot_stride_ = 0;      // bytes
  int n_sends_ = 0, n_receives_ = 0;  // under way
  int n_done_ = 0;
  int frontier_ = 0;  // first action that is not done
};

}  // namespace tessera::comm::mpi
