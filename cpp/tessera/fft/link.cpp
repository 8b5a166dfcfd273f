#include "tessera/fft/link.h"

#include <algorithm>
#include <span>

namespace tessera::fft {

namespace {

constexpr std::int64_t largest_message = std::int64_t{1} << 30;  // Communicator's

}  // namespace

Block MemoryPlan::take(const IndexBox& box, Memory memory, std::int64_t& used, std::int64_t value_size) const {
  const Block block = padded_block(box, memory, used / value_size, value_size);
  used += (block.batch_stride * fields * value_size + 63) / 64 * 64;
  return block;
}

std::vector<Link::Part> Link::parts_of(const std::vector<Piece>& pieces, int rank) {
  std::vector<Part> parts;
  for (const auto& piece : pieces) {
    if (piece.peer == rank) continue;
    if (parts.empty() || parts.back().peer != piece.peer) parts.push_back({piece.peer, 0, 0, {}});
    parts.back().pieces.push_back(piece);
  }
  return parts;
}

Link::Link(const Index3& grid, const Redistribution& redistribution, int rank, std::int64_t value_size, bool from_user,
           bool to_user, MemoryPlan& memory)
    : rank_(rank),
      value_size_(value_size),
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

void Link::connect(const comm::Communicator& comm, const comm::SharedMemory& shared, int tag, MemoryPlan& memory) {
  tag_ = tag;
  requests_.clear();
  const auto is_here = [&](const Part& part) { return shared.of(part.peer) != nullptr; };
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
      const auto where = here ? static_cast<Memory>(first_peer + part.peer) : incoming;
      const Block block = memory.take(piece.box, where, part.end, value_size_);
      if (to_user_)
        unpack_.add(piece.box, block, user_output_, piece.shift);
      else
        sources_.push_back(block);
    }
    if (!here) memory.incoming = part.end;
  }
  std::erase_if(sends_, is_here);
  std::erase_if(receives_, is_here);
}

void Link::execute(std::byte* const* memories, const comm::Communicator& comm, const comm::SharedMemory& shared,
                   ThreadPool& threads) {
  if (!is_moving_) return;
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
  shared.synchronise();
  comm::Communicator::wait_all(requests_);
  unpack_.run(memories, fields_, threads);
}

}  // namespace tessera::fft
