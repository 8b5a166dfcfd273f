// Operations on blocks whose sizes not all ranks know. The sizes are exchanged first, by a collective operation on
// blocks of one size. Sizes that only pairs of ranks know can't be planned by any rank, so those blocks go straight to
// their ranks.
#include <cstdint>

#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/pieces.h"

namespace tessera::comm {
namespace {

using Blocks = std::vector<std::vector<std::byte>>;

constexpr int block_tag = 30000;  // of no message of users

std::int64_t size_of(std::span<const std::byte> block) { return static_cast<std::int64_t>(block.size()); }

class Messages {
 public:
  explicit Messages(const Communicator& comm) : comm_(comm) {}

  void send(std::span<const std::byte> block, int destination) {
    in_pieces(block, [&](auto piece) { requests_.push_back(comm_.start_send(piece, destination, block_tag)); });
  }
  void receive(std::vector<std::byte>& block, std::int64_t size, int source) {
    block.resize(static_cast<std::size_t>(size));
    in_pieces(std::span(block),
              [&](auto piece) { requests_.push_back(comm_.start_receive(piece, source, block_tag)); });
  }
  void wait() { Communicator::wait_all(requests_); }

 private:
  const Communicator& comm_;
  std::vector<Request> requests_;
};

}  // namespace

Blocks Communicator::gather(std::span<const std::byte> data, int root) const {
  const std::int64_t own = size_of(data);
  std::vector<std::int64_t> sizes(rank() == root ? static_cast<std::size_t>(size()) : 0);
  gather(std::as_bytes(std::span(&own, 1)), writable_bytes_of(sizes), root);
  Blocks gathered(sizes.size());
  Messages messages(*this);
  if (rank() != root) messages.send(data, root);
  for (std::size_t source = 0; source < sizes.size(); ++source)
    if (static_cast<int>(source) == root)
      gathered[source].assign(data.begin(), data.end());
    else
      messages.receive(gathered[source], sizes[source], static_cast<int>(source));
  messages.wait();
  return gathered;
}

Blocks Communicator::all_gather(std::span<const std::byte> data) const {
  const auto n = static_cast<std::size_t>(size()), mine = static_cast<std::size_t>(rank());
  const std::int64_t own = size_of(data);
  std::vector<std::int64_t> sizes(n);
  all_gather(std::as_bytes(std::span(&own, 1)), std::vector<std::int64_t>(n, sizeof own), writable_bytes_of(sizes));
  std::size_t total = 0;
  for (const auto size : sizes) total += static_cast<std::size_t>(size);
  Blocks gathered(n);
  if (total > largest_message) {
    for (std::size_t source = 0; source < n; ++source) {
      auto& block = gathered[source];
      block.resize(static_cast<std::size_t>(sizes[source]));
      if (source == mine) std::copy(data.begin(), data.end(), block.begin());
      broadcast(block, static_cast<int>(source));
    }
    return gathered;
  }
  std::vector<std::byte> all(total);
  all_gather(data, sizes, all);
  auto at = all.cbegin();
  for (std::size_t source = 0; source < n; at += sizes[source++]) gathered[source].assign(at, at + sizes[source]);
  return gathered;
}

Blocks Communicator::all_to_all(const Blocks& outgoing) const {
  TESSERA_CHECK(static_cast<int>(outgoing.size()) == size());
  std::vector<std::int64_t> sent, received(outgoing.size());
  for (const auto& block : outgoing) sent.push_back(size_of(block));
  all_to_all(bytes_of(sent), writable_bytes_of(received));
  Blocks incoming(outgoing.size());
  incoming[static_cast<std::size_t>(rank())] = outgoing[static_cast<std::size_t>(rank())];
  Messages messages(*this);
  for (int step = 1; step < size(); ++step) {
    const int source = (rank() - step + size()) % size(), destination = (rank() + step) % size();
    const auto from = static_cast<std::size_t>(source);
    messages.receive(incoming[from], received[from], source);
    messages.send(outgoing[static_cast<std::size_t>(destination)], destination);
  }
  messages.wait();
  return incoming;
}

}  // namespace tessera::comm
