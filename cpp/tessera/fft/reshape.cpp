#include "tessera/fft/reshape.h"

#include <algorithm>
#include <cstring>

namespace tessera::fft {

namespace {

struct Strides {
  std::size_t offset, x, y;
};

/// Where a box's rows stand in the array of a larger box.
Strides strides_in(const IndexBox& array, const Index3& lower, std::size_t value_size) {
  const auto bytes = [&](std::int64_t values) { return static_cast<std::size_t>(values) * value_size; };
  return {bytes(array.flat(lower)), bytes(array.extent(1) * array.extent(2)), bytes(array.extent(2))};
}

}  // namespace

void Reshape::Copies::add(const Copy& copy) {
  list.push_back(copy);
  first_row.push_back(first_row.back() + copy.n_x * copy.n_y);
}

Reshape::Reshape(const Exchange& exchange, const IndexBox& from, const IndexBox& to, std::size_t value_size, int tag,
                 const comm::Communicator& comm, ThreadPool& threads)
    : comm_(comm), threads_(threads), tag_(tag) {
  const int me = comm.rank();
  const auto only_mine = [&](const std::vector<Piece>& pieces) {
    return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.peer == me; });
  };
  const bool same_box = from == to || (from.is_empty() && to.is_empty());
  is_identity_ = same_box && only_mine(exchange.send) && only_mine(exchange.receive);

  const auto plan_messages = [&](const std::vector<Piece>& pieces, bool sending, std::vector<Message>& messages) {
    std::size_t used = 0;
    for (const auto& piece : pieces) {
      const auto& box = piece.box;
      Index3 arrival;
      for (int d = 0; d < 3; ++d) arrival[d] = box.lower[d] + piece.shift[d];
      const std::size_t row = static_cast<std::size_t>(box.extent(2)) * value_size;
      const std::size_t layer = row * static_cast<std::size_t>(box.extent(1));
      if (piece.peer == me) {
        if (!sending) continue;
        const auto s = strides_in(from, box.lower, value_size), t = strides_in(to, arrival, value_size);
        keep_.add({s.offset, s.x, s.y, t.offset, t.x, t.y, box.extent(0), box.extent(1), row});
        continue;
      }
      if (messages.empty() || messages.back().peer != piece.peer) messages.push_back({piece.peer, used, used});
      if (sending) {
        const auto s = strides_in(from, box.lower, value_size);
        pack_.add({s.offset, s.x, s.y, used, layer, row, box.extent(0), box.extent(1), row});
      } else {
        const auto t = strides_in(to, arrival, value_size);
        unpack_.add({used, layer, row, t.offset, t.x, t.y, box.extent(0), box.extent(1), row});
      }
      used += layer * static_cast<std::size_t>(box.extent(0));
      messages.back().end = used;
    }
    return used;
  };
  send_buffer_.resize(plan_messages(exchange.send, true, sends_));
  receive_buffer_.resize(plan_messages(exchange.receive, false, receives_));
}

void Reshape::run(const Copies& copies, const std::byte* source, std::byte* target) {
  threads_.parallel_for(copies.first_row.back(), [&](std::int64_t begin, std::int64_t end) {
    auto i = static_cast<std::size_t>(std::upper_bound(copies.first_row.begin(), copies.first_row.end(), begin) -
                                      copies.first_row.begin() - 1);
    for (std::int64_t row = begin; row < end; ++i) {
      const auto& copy = copies.list[i];
      const std::int64_t last = std::min(end, copies.first_row[i + 1]) - copies.first_row[i];
      std::int64_t x = (row - copies.first_row[i]) / copy.n_y, y = (row - copies.first_row[i]) % copy.n_y;
      for (std::int64_t r = row - copies.first_row[i]; r < last; ++r) {
        const auto a = static_cast<std::size_t>(x), b = static_cast<std::size_t>(y);
        std::memcpy(target + copy.target + a * copy.target_x + b * copy.target_y,
                    source + copy.source + a * copy.source_x + b * copy.source_y, copy.row);
        if (++y == copy.n_y) ++x, y = 0;
      }
      row = copies.first_row[i] + last;
    }
  });
}

void Reshape::execute(const std::byte* from, std::byte* to) {
  requests_.clear();
  const std::span<std::byte> incoming(receive_buffer_), outgoing(send_buffer_);
  for (const auto& message : receives_)
    requests_.push_back(
        comm_.start_receive(incoming.subspan(message.begin, message.end - message.begin), message.peer, tag_));
  run(pack_, from, send_buffer_.data());
  for (const auto& message : sends_)
    requests_.push_back(
        comm_.start_send(outgoing.subspan(message.begin, message.end - message.begin), message.peer, tag_));
  run(keep_, from, to);
  comm::Communicator::wait_all(requests_);
  run(unpack_, receive_buffer_.data(), to);
}

}  // namespace tessera::fft
