#include "tessera/programs/collectives/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tessera/base/error.h"
#include "tessera/comm/mpi/native.h"

namespace tessera::programs {
namespace {

constexpr std::array names_of_calls{
    "barrier",     "broadcast",  "scatter",     "scatterv", "gather",     "gatherv",        "all_gather",
    "all_gatherv", "all_to_all", "all_to_allv", "reduce",   "all_reduce", "reduce_scatter", "reduce_scatter_block",
    "scan",        "exscan"};

}  // namespace

CallOf operation_of(const std::string& name) {
  const auto found = std::find(names_of_calls.begin(), names_of_calls.end(), name);
  if (found != names_of_calls.end()) return static_cast<CallOf>(found - names_of_calls.begin());
  refuse_name("operation", name, {names_of_calls.begin(), names_of_calls.end()});
}

bool is_reduction(CallOf operation) { return operation >= CallOf::reduce; }

template <class CountOf>
Call::BlockPlaces Call::blocks(CountOf&& count_of, std::int64_t per_item) const {
  const auto n = static_cast<std::size_t>(shape_.n_ranks);
  BlockPlaces blocks{std::vector<std::int64_t>(n), std::vector<std::int64_t>(n), 0};
  for (std::size_t i = 0; i < n; ++i) {
    const auto rank = shape_.gap < 0 ? n - 1 - i : i;
    blocks.counts[rank] = count_of(static_cast<int>(rank)) * per_item;
    blocks.places[rank] = blocks.elements;
    blocks.elements += blocks.counts[rank] + std::abs(shape_.gap) * per_item;
  }
  return blocks;
}

Call::Call(const Shape& shape) : shape_(shape) {
  const auto send = shape.send_per_item, receive = shape.receive_per_item, n = std::int64_t{shape.n_ranks};
  const auto of_rank = [&](int rank) { return count(rank); };
  const auto first = count(0), own = count(shape.rank);
  n_send_ = first * send;
  n_receive_ = first * receive;
  switch (shape.operation) {
    case CallOf::barrier:
      break;
    case CallOf::broadcast:
      receive_elements = n_receive_;
      break;
    case CallOf::scatter:
      send_elements = is_root() ? n * n_send_ : 0;
      receive_elements = n_receive_;
      break;
    case CallOf::scatterv:
      send_blocks_ = blocks(of_rank, send);
      send_elements = is_root() ? send_blocks_.elements : 0;
      receive_elements = n_receive_ = own * receive;
      break;
    case CallOf::gather:
      send_elements = n_send_;
      receive_elements = is_root() ? n * n_receive_ : 0;
      break;
    case CallOf::gatherv:
      receive_blocks_ = blocks(of_rank, receive);
      send_elements = n_send_ = own * send;
      receive_elements = is_root() ? receive_blocks_.elements : 0;
      break;
    case CallOf::all_gather:
      send_elements = n_send_;
      receive_elements = n * n_receive_;
      break;
    case CallOf::all_gatherv:
      receive_blocks_ = blocks(of_rank, receive);
      send_elements = n_send_ = own * send;
      receive_elements = receive_blocks_.elements;
      break;
    case CallOf::all_to_all:
      send_elements = n * n_send_;
      receive_elements = n * n_receive_;
      break;
    case CallOf::all_to_allv: {
      // In place, two ranks exchange as much in both directions.
      const auto between = [&](int from, int to) { return count(shape.in_place ? from + to : 2 * from + to); };
      send_blocks_ = blocks([&](int to) { return between(shape.rank, to); }, send);
      receive_blocks_ = blocks([&](int from) { return between(from, shape.rank); }, receive);
      send_elements = send_blocks_.elements;
      receive_elements = receive_blocks_.elements;
      break;
    }
    case CallOf::reduce:
      send_elements = n_send_;
      receive_elements = is_root() ? n_send_ : 0;
      break;
    case CallOf::all_reduce:
    case CallOf::scan:
    case CallOf::exscan:
      send_elements = receive_elements = n_send_;
      break;
    case CallOf::reduce_scatter:
      send_blocks_ = blocks(of_rank, send);
      send_elements = 0;
      for (const auto block : send_blocks_.counts) send_elements += block;
      receive_elements = shape.in_place ? send_elements : own * send;
      break;
    case CallOf::reduce_scatter_block:
      send_elements = n * n_send_;
      receive_elements = shape.in_place ? send_elements : n_send_;
      break;
  }
}

/// Sets the addresses of the call; those that MPI ignores on this rank are left out.
void Call::addresses(void* send, void* receive) {
  send_ = send_elements > 0 ? send : nullptr;
  receive_ = receive_elements > 0 ? receive : nullptr;
  if (!shape_.in_place) return;
  switch (shape_.operation) {
    case CallOf::broadcast:
      break;
    case CallOf::scatter:
    case CallOf::scatterv:
      if (is_root()) receive_ = MPI_IN_PLACE;
      break;
    case CallOf::gather:
    case CallOf::gatherv:
    case CallOf::reduce:
      if (is_root()) send_ = MPI_IN_PLACE;
      break;
    default:
      send_ = MPI_IN_PLACE;
  }
}

std::pair<std::int64_t, std::int64_t> Call::result() const {
  switch (shape_.operation) {
    case CallOf::exscan:
      return {0, shape_.rank > 0 ? n_send_ : 0};
    case CallOf::reduce_scatter:
      return {0, send_blocks_.counts[static_cast<std::size_t>(shape_.rank)]};
    case CallOf::reduce_scatter_block:
      return {0, n_send_};
    default:
      return {0, receive_elements};
  }
}

int Call::run(comm::mpi::Collectives* ours, MPI_Comm comm) const {
  namespace native = comm::mpi::native;
  const auto type = shape_.send_type;
  const auto ignored = [&](bool counts, MPI_Datatype kind) { return counts ? kind : MPI_DATATYPE_NULL; };
  const auto places = [](bool counts, const std::vector<std::int64_t>& of) { return counts ? of.data() : nullptr; };
  const bool is_scatter = shape_.operation == CallOf::scatter || shape_.operation == CallOf::scatterv;
  const bool is_gather = shape_.operation == CallOf::gather || shape_.operation == CallOf::gatherv;
  const auto send_type = ignored(!is_scatter || is_root(), shape_.send_type);
  const auto receive_type = ignored(!is_gather || is_root(), shape_.receive_type);
  const auto* send_counts = places(!is_scatter || is_root(), send_blocks_.counts);
  const auto* send_places = places(!is_scatter || is_root(), send_blocks_.places);
  const auto* receive_counts = places(!is_gather || is_root(), receive_blocks_.counts);
  const auto* receive_places = places(!is_gather || is_root(), receive_blocks_.places);
  const auto* s = send_;
  auto* r = receive_;
  const int root = shape_.root;
  // Calls either function with the same arguments.
  const auto call = [&](auto member, auto function, auto... arguments) {
    return ours ? (ours->*member)(arguments...) : function(arguments..., comm);
  };
  using Ours = comm::mpi::Collectives;
  switch (shape_.operation) {
    case CallOf::barrier:
      return ours ? ours->barrier() : MPI_Barrier(comm);
    case CallOf::broadcast:
      return call(&Ours::broadcast, native::broadcast, r, n_receive_, shape_.receive_type, root);
    case CallOf::scatter:
      return call(&Ours::scatter, native::scatter, s, n_send_, send_type, r, n_receive_, receive_type, root);
    case CallOf::scatterv:
      return call(&Ours::scatterv, native::scatterv, s, send_counts, send_places, send_type, r, n_receive_,
                  receive_type, root);
    case CallOf::gather:
      return call(&Ours::gather, native::gather, s, n_send_, send_type, r, n_receive_, receive_type, root);
    case CallOf::gatherv:
      return call(&Ours::gatherv, native::gatherv, s, n_send_, send_type, r, receive_counts, receive_places,
                  receive_type, root);
    case CallOf::all_gather:
      return call(&Ours::all_gather, native::all_gather, s, n_send_, send_type, r, n_receive_, receive_type);
    case CallOf::all_gatherv:
      return call(&Ours::all_gatherv, native::all_gatherv, s, n_send_, send_type, r, receive_counts, receive_places,
                  receive_type);
    case CallOf::all_to_all:
      return call(&Ours::all_to_all, native::all_to_all, s, n_send_, send_type, r, n_receive_, receive_type);
    case CallOf::all_to_allv:
      return call(&Ours::all_to_allv, native::all_to_allv, s, send_counts, send_places, send_type, r, receive_counts,
                  receive_places, receive_type);
    case CallOf::reduce:
      return call(&Ours::reduce, native::reduce, s, r, n_send_, type, op, root);
    case CallOf::all_reduce:
      return call(&Ours::all_reduce, native::all_reduce, s, r, n_send_, type, op);
    case CallOf::reduce_scatter:
      return call(&Ours::reduce_scatter, native::reduce_scatter, s, r, send_blocks_.counts.data(), type, op);
    case CallOf::reduce_scatter_block:
      return call(&Ours::reduce_scatter_block, native::reduce_scatter_block, s, r, n_send_, type, op);
    case CallOf::scan:
      return call(&Ours::scan, native::scan, s, r, n_send_, type, op);
    case CallOf::exscan:
      return call(&Ours::exscan, native::exscan, s, r, n_send_, type, op);
  }
  return MPI_ERR_OTHER;
}

}  // namespace tessera::programs
