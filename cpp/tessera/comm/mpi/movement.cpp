// Operations that move data and combine nothing. Plans are of bytes in the order of the types' signatures. A user's
// buffer is used where its bytes are in that order; else its data are packed.
#include <algorithm>
#include <cstring>

#include "tessera/comm/mpi/collectives.h"
#include "tessera/comm/mpi/native.h"

namespace tessera::comm::mpi {

/// A user's buffer with a block for each rank, side by side unless there are displacements.
struct Collectives::BlocksByRank {
  std::byte* address = nullptr;
  MPI_Datatype type = MPI_BYTE;
  std::int64_t count = 0;                         // of each block
  Integers counts = {};                           // in its stead
  Integers displacements = {};                    // in extents
  std::int64_t extent = element_of(type).extent;  // bytes

  Data operator[](int rank) const {
    return {address + (displacements ? displacements[rank] : rank * count) * extent, counts ? counts[rank] : count,
            type};
  }
  /// Tells whether the memory has the form that plans need: blocks without gaps in the order of ranks.
  bool is_plain(const std::vector<std::int64_t>& offsets) const {
    if (!mpi::is_plain(type)) return false;
    for (std::size_t rank = 0; displacements && rank + 1 < offsets.size(); ++rank)
      if (offsets[rank + 1] > offsets[rank] && displacements[static_cast<int>(rank)] * extent != offsets[rank])
        return false;
    return true;
  }
};

namespace {

/// Takes storage for a range that a schedule touches and for `also`, and returns the address of byte 0.
std::byte* own_storage(Storage& storage, ElementRange range, const ElementRange& also) {
  range.include(also);
  return storage.elements(range, Element{});
}

}  // namespace

std::int64_t Collectives::bytes_of_data(std::int64_t count, MPI_Datatype type) {
  return may_plan() && count != 0 ? count * types_.size_of(type) : 0;  // a type without elements may be anything
}

int Collectives::broadcast(void* buffer, std::int64_t count, MPI_Datatype type, int root) {
  const auto* planned = plan_move(Operation::broadcast, {1, bytes_of_data(count, type)}, root);
  if (!planned) return leave_to(native::broadcast, buffer, count, type, root);
  const Data data{buffer, count, type};
  if (is_plain(type)) return finish(run(*planned, {nullptr, bytes_at(buffer), nullptr}, Element{}));
  auto* bytes = own_storage(output_, {}, {0, data.bytes()});
  int code = rank_ == root ? pack(data, bytes, kept_->messages) : MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = run(*planned, {nullptr, bytes, nullptr}, Element{});
  if (code == MPI_SUCCESS && rank_ != root) code = unpack(bytes, data, kept_->messages);
  return finish(code);
}

int Collectives::scatter(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive,
                         std::int64_t n_receive, MPI_Datatype receive_type, int root) {
  const bool is_root = rank_ == root;
  const Data own{receive, n_receive, receive_type};
  const auto block = is_root ? bytes_of_data(n_send, send_type) : bytes_of_data(n_receive, receive_type);
  const auto* planned = plan_move(Operation::scatter, {n_ranks_, block}, root);
  if (!planned) return leave_to(native::scatter, send, n_send, send_type, receive, n_receive, receive_type, root);
  const auto& schedule = *planned->schedule;
  const auto& touched = schedule.touched(Buffer::output);
  const ElementRange mine{rank_ * block, block};
  int code = MPI_SUCCESS;
  if (is_root) {
    auto* bytes = bytes_at(send);
    if (!is_plain(send_type) || !schedule.written(Buffer::output).is_empty()) {
      bytes = own_storage(output_, {}, {0, planned->offsets.back()});
      code = pack({bytes_at(send), n_send * n_ranks_, send_type}, bytes, kept_->messages);
    }
    if (code == MPI_SUCCESS) code = run(schedule, {nullptr, bytes, nullptr}, Element{});
    if (code == MPI_SUCCESS && receive != MPI_IN_PLACE) code = unpack(bytes + mine.begin, own, kept_->messages);
  } else if (is_plain(receive_type) && mine.contains(touched)) {
    code = run(schedule, {nullptr, bytes_at(receive) - mine.begin, nullptr}, Element{});
  } else {
    auto* bytes = own_storage(output_, touched, mine);
    code = run(schedule, {nullptr, bytes, nullptr}, Element{});
    if (code == MPI_SUCCESS) code = unpack(bytes + mine.begin, own, kept_->messages);
  }
  return finish(code);
}

int Collectives::gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive,
                        std::int64_t n_receive, MPI_Datatype receive_type, int root) {
  const bool is_root = rank_ == root;
  const Data own{bytes_at(send), n_send, send_type};
  const auto block = is_root ? bytes_of_data(n_receive, receive_type) : bytes_of_data(n_send, send_type);
  const auto* planned = plan_move(Operation::gather, {n_ranks_, block}, root);
  if (!planned) return leave_to(native::gather, send, n_send, send_type, receive, n_receive, receive_type, root);
  if (is_root) return all_gather_blocks(*planned, own, {bytes_at(receive), receive_type, n_receive});
  const auto& schedule = *planned->schedule;
  const auto& touched = schedule.touched(Buffer::output);
  const ElementRange mine{rank_ * block, block};
  if (is_plain(send_type) && mine.contains(touched) && schedule.written(Buffer::output).is_empty())
    return finish(run(schedule, {nullptr, bytes_at(send) - mine.begin, nullptr}, Element{}));
  auto* bytes = own_storage(output_, touched, mine);
  int code = pack(own, bytes + mine.begin, kept_->messages);
  if (code == MPI_SUCCESS) code = run(schedule, {nullptr, bytes, nullptr}, Element{});
  return finish(code);
}

/// Carries out a plan on a rank that ends with the blocks of all ranks. `own.address` may be MPI_IN_PLACE.
int Collectives::all_gather_blocks(const Planned& planned, const Data& own, const BlocksByRank& blocks) {
  const bool is_in_place = own.address == MPI_IN_PLACE;
  const bool is_plain = blocks.is_plain(planned.offsets);
  auto* bytes = is_plain ? blocks.address : own_storage(output_, {}, {0, planned.offsets.back()});
  int code = MPI_SUCCESS;
  if (!is_in_place || !is_plain)
    code = pack(is_in_place ? blocks[rank_] : own, bytes + planned.offsets[static_cast<std::size_t>(rank_)],
                kept_->messages);
  if (code == MPI_SUCCESS) code = run(planned, {nullptr, bytes, nullptr}, Element{});
  for (int rank = 0; rank < n_ranks_ && !is_plain && code == MPI_SUCCESS; ++rank)
    code = unpack(bytes + planned.offsets[static_cast<std::size_t>(rank)], blocks[rank], kept_->messages);
  return finish(code);
}

int Collectives::all_gather(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive,
                            std::int64_t n_receive, MPI_Datatype receive_type) {
  const auto* planned = plan_move(Operation::all_gather, {n_ranks_, bytes_of_data(n_receive, receive_type)});
  if (!planned) return leave_to(native::all_gather, send, n_send, send_type, receive, n_receive, receive_type);
  return all_gather_blocks(*planned, {bytes_at(send), n_send, send_type}, {bytes_at(receive), receive_type, n_receive});
}

int Collectives::all_gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive,
                             const Integers& counts, const Integers& displacements, MPI_Datatype receive_type) {
  const auto* planned = plan_move(Operation::all_gather, {n_ranks_, 0, counts, bytes_of_data(1, receive_type)});
  if (!planned)
    return leave_to(native::all_gatherv, send, n_send, send_type, receive, counts, displacements, receive_type);
  return all_gather_blocks(*planned, {bytes_at(send), n_send, send_type},
                           {bytes_at(receive), receive_type, 0, counts, displacements});
}

int Collectives::all_to_all(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive,
                            std::int64_t n_receive, MPI_Datatype receive_type) {
  const auto block = bytes_of_data(n_receive, receive_type);
  const auto* planned = plan_move(Operation::all_to_all, {1, block});
  if (!planned) return leave_to(native::all_to_all, send, n_send, send_type, receive, n_receive, receive_type);
  const auto& schedule = *planned->schedule;
  const bool is_in_place = send == MPI_IN_PLACE;
  const Data all{is_in_place ? receive : bytes_at(send), n_ranks_ * (is_in_place ? n_receive : n_send),
                 is_in_place ? receive_type : send_type};
  const Data result{receive, n_ranks_ * n_receive, receive_type};
  const auto total = planned->offsets.back(), mine = rank_ * block;
  int code = MPI_SUCCESS;
  auto* input = bytes_at(send);
  if (is_in_place || !is_plain(send_type) || !schedule.written(Buffer::input).is_empty()) {
    input = own_storage(input_, {}, {0, total});
    code = pack(all, input, kept_->messages);
  }
  auto* output = is_plain(receive_type) ? bytes_at(receive) : own_storage(output_, {}, {0, total});
  std::memcpy(output + mine, input + mine, static_cast<std::size_t>(block));
  if (code == MPI_SUCCESS) code = run(schedule, {input, output, nullptr}, Element{});
  if (code == MPI_SUCCESS && !is_plain(receive_type)) code = unpack(output, result, kept_->messages);
  return finish(code);
}

// The counts of the following operations are known only to pairs of ranks, so no rank can plan them: data go straight
// to their ranks, in an order that needs no counts. This is done only where an entry is asked for, as a gain can't be
// predicted.

/// Sends and receives messages in the order of a plan.
int Collectives::send_directly(std::span<const Direct> messages) {
  latest_ = &direct_;
  make_private();
  std::int64_t total = 0;
  for (const auto& message : messages) total += message.data.bytes();
  // All messages use storage of our own, as their places in the users' buffers may be anywhere.
  auto* bytes = own_storage(output_, {}, {0, total});
  std::vector<collectives::Action> actions;
  int code = MPI_SUCCESS;
  std::int64_t at = 0;
  for (const auto& [is_send, peer, data] : messages) {
    collectives::PlannedMessage message;
    message.from = is_send ? rank_ : peer;
    message.to = is_send ? peer : rank_;
    message.begin = message.at = at;
    message.length = data.bytes();
    actions.push_back({message, 0, {}});
    if (is_send && code == MPI_SUCCESS) code = pack(data, bytes + at, kept_->messages);
    at += message.length;
  }
  const Schedule schedule(std::move(actions), rank_);
  if (code == MPI_SUCCESS) code = run(schedule, {nullptr, bytes, nullptr}, Element{});
  at = 0;
  for (const auto& [is_send, peer, data] : messages) {
    if (!is_send && code == MPI_SUCCESS) code = unpack(bytes + at, data, kept_->messages);
    at += data.bytes();
  }
  return finish(code);
}

/// Copies a block on this rank, between types of the same signature.
int Collectives::copy_block(const Data& from, const Data& to) {
  auto* bytes = input_.bytes(from.bytes());
  int code = pack(from, bytes, kept_->messages);
  if (code == MPI_SUCCESS) code = unpack(bytes, to, kept_->messages);
  return finish(code);
}

int Collectives::scatterv(const void* send, const Integers& counts, const Integers& displacements,
                          MPI_Datatype send_type, void* receive, std::int64_t n_receive, MPI_Datatype receive_type,
                          int root) {
  latest_ = &unplanned_;
  if (!is_direct() || !is_rank(root))
    return native::scatterv(send, counts, displacements, send_type, receive, n_receive, receive_type, root, comm_);
  const Data own{receive, n_receive, receive_type};
  std::vector<Direct> messages;
  if (rank_ != root) {
    messages.push_back({false, root, own});
    return send_directly(messages);
  }
  const BlocksByRank blocks{bytes_at(send), send_type, 0, counts, displacements};
  for (const int rank : collectives::topology_order(*wires_))
    if (rank != root) messages.push_back({true, rank, blocks[rank]});
  const int code = send_directly(messages);
  if (code != MPI_SUCCESS || receive == MPI_IN_PLACE) return code;
  return copy_block(blocks[root], own);
}

int Collectives::gatherv(const void* send, std::int64_t n_send, MPI_Datatype send_type, void* receive,
                         const Integers& counts, const Integers& displacements, MPI_Datatype receive_type, int root) {
  latest_ = &unplanned_;
  if (!is_direct() || !is_rank(root))
    return native::gatherv(send, n_send, send_type, receive, counts, displacements, receive_type, root, comm_);
  const Data own{bytes_at(send), n_send, send_type};
  std::vector<Direct> messages;
  if (rank_ != root) {
    messages.push_back({true, root, own});
    return send_directly(messages);
  }
  const BlocksByRank blocks{bytes_at(receive), receive_type, 0, counts, displacements};
  for (const int rank : collectives::topology_order(*wires_))
    if (rank != root) messages.push_back({false, rank, blocks[rank]});
  const int code = send_directly(messages);
  if (code != MPI_SUCCESS || send == MPI_IN_PLACE) return code;
  return copy_block(own, blocks[root]);
}

int Collectives::all_to_allv(const void* send, const Integers& send_counts, const Integers& send_displacements,
                             MPI_Datatype send_type, void* receive, const Integers& receive_counts,
                             const Integers& receive_displacements, MPI_Datatype receive_type) {
  latest_ = &unplanned_;
  if (!is_direct())
    return native::all_to_allv(send, send_counts, send_displacements, send_type, receive, receive_counts,
                               receive_displacements, receive_type, comm_);
  const BlocksByRank to{bytes_at(receive), receive_type, 0, receive_counts, receive_displacements};
  const auto from =
      send == MPI_IN_PLACE ? to : BlocksByRank{bytes_at(send), send_type, 0, send_counts, send_displacements};
  if (direct_order_.empty()) {
    const CollectiveProblem alike{Operation::all_to_all, n_ranks_, 0, {1}, 1, true};
    for (const auto& message : collectives::entry("subnets").plan(alike, *wires_, {}).messages)
      if (message.from == rank_ || message.to == rank_) direct_order_.emplace_back(message.from, message.to);
  }
  std::vector<Direct> messages;
  for (const auto& [sender, receiver] : direct_order_) {
    if (sender == rank_) messages.push_back({true, receiver, from[receiver]});
    if (receiver == rank_) messages.push_back({false, sender, to[sender]});
  }
  const int code = send_directly(messages);
  if (code != MPI_SUCCESS || send == MPI_IN_PLACE) return code;
  return copy_block(from[rank_], to[rank_]);
}

}  // namespace tessera::comm::mpi
