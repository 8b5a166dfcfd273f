// Hands out work to threads as they become free, while each piece mostly stays with the same thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::md {

/// Hands out numbered pieces of work. Each thread first gets those of its own share, in order, then those that other
/// threads have left. Consecutive pieces read the same atoms, so a thread finds them in its own cache.
class Shares {
 public:
  /// Gives thread t the share [begin[t], begin[t + 1]).
  explicit Shares(std::span<const std::int64_t> begin) : shares_(begin.size() - 1) {
    for (std::size_t t = 0; t < shares_.size(); ++t) {
      shares_[t].next = begin[t];
      shares_[t].end = begin[t + 1];
    }
  }
  /// Divides [0, n) into equal shares.
  Shares(std::int64_t n, int threads) : Shares(even(n, threads)) {}

  /// Calls function(begin, end) for batches of pieces until no piece is left.
  template <class Function>
  void work(int thread, std::int64_t batch, Function&& function) {
    for (std::size_t k = 0; k < shares_.size(); ++k) {
      auto& share = shares_[(static_cast<std::size_t>(thread) + k) % shares_.size()];
      for (auto first = share.next.fetch_add(batch); first < share.end; first = share.next.fetch_add(batch))
        function(first, std::min(first + batch, share.end));
    }
  }

 private:
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };
  static std::vector<std::int64_t> even(std::int64_t n, int threads) {
    std::vector<std::int64_t> begin;
    for (int t = 0; t <= threads; ++t) begin.push_back(n * t / threads);
    return begin;
  }

  std::vector<Share> shares_;
};

}  // namespace tessera::md
