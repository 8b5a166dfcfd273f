// One collective call with all of its arguments, made through Tessera or straight to the MPI library.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/comm/mpi/collectives.h"

namespace tessera::programs {

enum class CallOf {
  barrier,
  broadcast,
  scatter,
  scatterv,
  gather,
  gatherv,
  all_gather,
  all_gatherv,
  all_to_all,
  all_to_allv,
  reduce,
  all_reduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan
};

/// Finds an operation by its name; throws InputError for others.
CallOf operation_of(const std::string& name);
bool is_reduction(CallOf operation);

/// Counts are of items; an item is `per_item` elements of a type.
struct Shape {
  CallOf operation = CallOf::barrier;
  int root = 0, rank = 0, n_ranks = 1;
  std::vector<std::int64_t> counts{1};  // of ranks, over and over; of operations with one count: the first
  std::int64_t gap = 0;                 // items between blocks; negative: blocks in reverse order
  bool in_place = false;
  MPI_Datatype send_type = MPI_DOUBLE, receive_type = MPI_DOUBLE;
  std::int64_t send_per_item = 1, receive_per_item = 1;
};

class Call {
 public:
  explicit Call(const Shape& shape);

  MPI_Op op = MPI_SUM;
  std::int64_t send_elements = 0, receive_elements = 0;  // that memory must hold on this rank

  void addresses(void* send, void* receive);
  /// Makes the call through `ours`, or by the MPI library's own function where that is null. Returns an MPI error code.
  int run(comm::mpi::Collectives* ours, MPI_Comm comm) const;
  /// Tells whether this rank's own data are in its receive buffer.
  bool is_in_place() const { return send_ == MPI_IN_PLACE; }
  /// Returns the elements of the receive buffer that a reduction defines on this rank: the first, and one after the
  /// last.
  std::pair<std::int64_t, std::int64_t> result() const;

 private:
  struct BlockPlaces {
    std::vector<std::int64_t> counts, places;  // elements
    std::int64_t elements = 0;
  };
  template <class CountOf>
  BlockPlaces blocks(CountOf&& count_of, std::int64_t per_item) const;
  std::int64_t count(int rank) const { return shape_.counts[static_cast<std::size_t>(rank) % shape_.counts.size()]; }
  bool is_root() const { return shape_.rank == shape_.root; }

  Shape shape_;
  std::int64_t n_send_ = 0, n_receive_ = 0;
  BlockPlaces send_blocks_, receive_blocks_;
  const void* send_ = nullptr;
  void* receive_ = nullptr;
};

}  // namespace tessera::programs
