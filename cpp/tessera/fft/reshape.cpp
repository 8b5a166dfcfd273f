#include "tessera/fft/reshape.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

namespace tessera::fft {

namespace {

constexpr std::int64_t largest_message = std::int64_t{1} << 30;  // the communicator's limit

}  // namespace

Block MemoryPlan::take(const IndexBox& box, TransformMemory memory, std::int64_t& used, std::int64_t value_size) const {
  const Block block = padded_block(box, memory, used / value_size, value_size);
  used += (block.batch_stride * fields * value_size + 63) / 64 * 64;
  return block;
}

std::vector<Reshape::Part> Reshape::parts_of(const std::vector<MovedBox>& pieces, int rank) {
  std::vector<Part> parts;
  for (const auto& piece : pieces) {
    if (piece.peer == rank) continue;
    if (parts.empty() || parts.back().peer != piece.peer) parts.push_back({piece.peer, 0, 0, {}});
    parts.back().pieces.push_back(piece);
  }
  return parts;
}

Reshape::Reshape(const Index3& grid, const Redistribution& redistribution, int rank, std::int64_t value_size,
                 bool from_user, bool to_user, MemoryPlan& memory)
    : value_size_(value_size),
      fields_(memory.fields),
      is_moving_(redistribution.from != redistribution.to),
      to_user_(to_user),
      user_output_(whole_array(redistribution.to[static_cast<std::size_t>(rank)], user_output)),
      pack_(value_size),
      unpack_(value_size) {
  const Exchange exchange = plan_exchange(grid, redistribution.from, redistribution.to, rank);
  sends_ = parts_of(exchange.send, rank);
  receives_ = parts_of(exchange.receive, rank);
  const Block user_source = whole_array(redistribution.from[static_cast<std::size_t>(rank)], user_input);

  for (const auto& piece : exchange.send) {
    if (piece.peer != rank) continue;
    if (from_user) {
      Block kept = user_source;
      kept.offset = user_source.flat(piece.box.lower[0], piece.box.lower[1], piece.box.lower[2]);
      kept.box = piece.box;
      sources_.push_back(kept);
    } else if (to_user) {
      Block kept = user_output_;
      kept.offset = user_output_.flat(piece.box.lower[0] + piece.shift[0], piece.box.lower[1] + piece.shift[1],
                                      piece.box.lower[2] + piece.shift[2]);
      kept.box = piece.box;
      targets_.push_back(kept);
    } else {
      targets_.push_back(memory.take(piece.box, local, memory.local, value_size));
      sources_.push_back(targets_.back());
    }
  }
  for (auto& part : sends_) {
    part.begin = memory.outgoing;
    for (const auto& piece : part.pieces) {
      const Block block = memory.take(piece.box, outgoing, memory.outgoing, value_size);
      if (from_user)
        pack_.add(piece.box, user_source, block);
      else
        targets_.push_back(block);
    }
    part.end = memory.outgoing;
  }
}

/// Sends all blocks, with the places where they would arrive, to rank 0, and returns the plan that it chooses.
std::optional<collectives::MessagePlan> Reshape::agree_on_plan(const Exchanges& exchanges,
                                                               const MemoryPlan& memory) const {
  struct End {
    bool is_sent;
    int peer;
    std::int64_t begin, size;
  };
  std::vector<End> ends;
  for (const auto& part : sends_) ends.push_back({true, part.peer, part.begin, part.end - part.begin});
  std::int64_t used = memory.incoming;
  for (const auto& part : receives_) {
    const std::int64_t begin = used;
    for (const auto& piece : part.pieces) memory.take(piece.box, incoming, used, value_size_);
    ends.push_back({false, part.peer, begin, used - begin});
  }
  std::map<std::pair<int, int>, collectives::ExchangeBlock> blocks;  // by sender and receiver
  const auto all = exchanges.comm.gather(comm::bytes_of(ends), 0);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (const auto& end : comm::values_of<End>(all[rank])) {
      const int mine = static_cast<int>(rank);
      auto& block = blocks[end.is_sent ? std::pair(mine, end.peer) : std::pair(end.peer, mine)];
      block.size = end.size;
      (end.is_sent ? block.from : block.to) = mine;
      (end.is_sent ? block.to : block.from) = end.peer;
      (end.is_sent ? block.begin : block.at) = end.begin;
    }
  std::vector<collectives::ExchangeBlock> list;
  for (const auto& [ranks, block] : blocks) list.push_back(block);
  return plan_blocks(exchanges, list);
}

void Reshape::count_incoming(const std::function<bool(int)>& shares_with, MemoryPlan& memory) const {
  for (const auto& part : receives_)
    for (const auto& piece : part.pieces)
      if (!shares_with(part.peer)) memory.take(piece.box, incoming, memory.incoming, value_size_);
}

void Reshape::connect(Exchanges& exchanges, int tag, MemoryPlan& memory) {
  tag_ = tag;
  if (is_moving_ && (exchanges.name == "collectives" || exchanges.name == "auto"))
    if (const auto plan = agree_on_plan(exchanges, memory)) {
      name_ = plan->entry;
      if (!exchanges.moves) exchanges.moves.emplace(exchanges.comm);
      planned_ = exchanges.moves->add(*plan);
    }
  if (is_moving_ && exchanges.name == "alltoall") name_ = "alltoall";

  requests_.clear();
  const auto is_here = [&](const Part& part) {
    return name_ == "pairwise" && exchanges.shared.of(part.peer) != nullptr;
  };
  const auto& comm = exchanges.comm;
  for (auto& part : receives_)
    if (is_here(part))
      requests_.push_back(comm.start_receive(std::as_writable_bytes(std::span(&part.begin, 1)), part.peer, tag));
  for (const auto& part : sends_)
    if (is_here(part)) requests_.push_back(comm.start_send(std::as_bytes(std::span(&part.begin, 1)), part.peer, tag));
  comm::Communicator::wait_all(requests_);

  for (auto& part : receives_) {
    const bool here = is_here(part);
    if (!here) part.begin = memory.incoming;
    part.end = part.begin;
    for (const auto& piece : part.pieces) {
      const auto where = here ? static_cast<TransformMemory>(first_peer + part.peer) : incoming;
      const Block block = memory.take(piece.box, where, part.end, value_size_);
      if (to_user_)
        unpack_.add(piece.box, block, user_output_, piece.shift);
      else
        sources_.push_back(block);
    }
    if (!here) memory.incoming = part.end;
  }
  // A core that has read a cache line keeps a copy, and a write must wait until that core has dropped it, longer for
  // distant cores. Writes past the caches do not wait.
  for (const auto& part : sends_)
    for (auto& block : targets_) {
      const std::int64_t begin = block.offset * value_size_;
      if (block.memory == outgoing && is_here(part) && part.begin <= begin && begin < part.end) block.streams = true;
    }
  if (!exchanges.is_large) std::copy_if(receives_.begin(), receives_.end(), std::back_inserter(seen_), is_here);
  std::erase_if(sends_, is_here);
  std::erase_if(receives_, is_here);
  if (name_ == "alltoall") list_shares(comm.size());
}

void Reshape::start_messages(std::byte* const* memories, const comm::Communicator& comm, ThreadPool& threads) {
  requests_.clear();
  const auto in_messages = [&](const Part& part, auto&& start) {
    for (std::int64_t begin = part.begin; begin < part.end; begin += largest_message)
      requests_.push_back(start(begin, static_cast<std::size_t>(std::min(largest_message, part.end - begin))));
  };
  for (const auto& part : receives_)
    in_messages(part, [&](std::int64_t begin, std::size_t size) {
      return comm.start_receive(std::span(memories[incoming] + begin, size), part.peer, tag_);
    });
  pack_.run(memories, fields_, threads);
  for (const auto& part : sends_)
    in_messages(part, [&](std::int64_t begin, std::size_t size) {
      return comm.start_send(std::span<const std::byte>(memories[outgoing] + begin, size), part.peer, tag_);
    });
}

void Reshape::list_shares(int ranks) {
  for (auto* list : {&sent_, &from_, &received_, &to_}) list->assign(static_cast<std::size_t>(ranks), 0);
  for (const auto& part : sends_) {
    sent_[static_cast<std::size_t>(part.peer)] = part.end - part.begin;
    from_[static_cast<std::size_t>(part.peer)] = part.begin;
  }
  for (const auto& part : receives_) {
    received_[static_cast<std::size_t>(part.peer)] = part.end - part.begin;
    to_[static_cast<std::size_t>(part.peer)] = part.begin;
  }
}

/// Reads received values in the order of memory, which is several times faster than reading lines of the mesh across
/// it.
void Reshape::fetch(std::byte* const* memories, ThreadPool& threads) const {
  constexpr std::int64_t line = 64;
  if (seen_.empty()) return;
  threads.run([&](int thread) {
    for (const auto& part : seen_) {
      const volatile std::byte* from = memories[first_peer + part.peer];
      const std::int64_t lines = (part.end - part.begin) / line, n = threads.size();
      for (std::int64_t i = lines * thread / n; i < lines * (thread + 1) / n; ++i)
        static_cast<void>(from[part.begin + i * line]);
    }
  });
}

void Reshape::execute(std::byte* const* memories, Exchanges& exchanges, ThreadPool& threads) {
  if (!is_moving_) return;
  if (name_ == "pairwise") {
    start_messages(memories, exchanges.comm, threads);
    exchanges.shared.synchronise();
    comm::Communicator::wait_all(requests_);
    fetch(memories, threads);
  } else {
    pack_.run(memories, fields_, threads);
    if (planned_ >= 0)
      exchanges.moves->execute(planned_, memories[outgoing], memories[incoming]);
    else
      exchanges.comm.all_to_all(memories[outgoing], sent_, from_, memories[incoming], received_, to_);
  }
  unpack_.run(memories, fields_, threads);
}

}  // namespace tessera::fft
