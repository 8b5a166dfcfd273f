#include "tessera/comm/check_operations.h"

#include <algorithm>
#include <numeric>

namespace tessera::comm {
namespace {

using Values = std::vector<std::int64_t>;

/// Returns a value that no other rank has at this place; sums of these values wrap around.
std::int64_t value_of(int rank, std::int64_t i) {
  const auto mixed =
      static_cast<std::uint64_t>(rank + 1) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(i) * 0xBF58476D1CE4E5B9u;
  return static_cast<std::int64_t>(mixed ^ (mixed >> 29));
}

Values values_from(int rank, std::int64_t count) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(value_of(rank, i));
  return values;
}

class Check {
 public:
  explicit Check(const Communicator& comm) : comm_(comm), n_(comm.size()), rank_(comm.rank()) {}

  std::vector<std::string> wrong;

  void check_everything() {
    for (const std::int64_t count : {0, 1, 5, 1000}) {
      reduce(count);
      for (const int root : {0, n_ - 1}) {
        broadcast(count, root);
        gather(count, root);
        gather_any(count, root);
      }
      all_gather(count);
      all_gather_any(count);
      reduce_scatter(count);
      all_to_all(count);
      all_to_all_any(count);
      all_to_all_at_offsets(count);
      comm_.barrier();
    }
  }

 private:
  void expect(bool is_right, const char* name) {
    if (!is_right && std::find(wrong.begin(), wrong.end(), name) == wrong.end()) wrong.emplace_back(name);
  }

  /// Combines the values of all ranks one after the other.
  template <class Combine>
  Values combined(std::int64_t count, Combine&& combine) const {
    auto values = values_from(0, count);
    for (int rank = 1; rank < n_; ++rank)
      for (std::int64_t i = 0; i < count; ++i) {
        auto& value = values[static_cast<std::size_t>(i)];
        value = combine(value, value_of(rank, i));
      }
    return values;
  }

  void reduce(std::int64_t count) {
    auto values = values_from(rank_, count);
    comm_.all_reduce_sum(values);
    expect(values == combined(count,
                              [](std::int64_t a, std::int64_t b) {
                                return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                                                 static_cast<std::uint64_t>(b));
                              }),
           "all_reduce_sum");
    const auto greatest = combined(count, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
    values = values_from(rank_, count);
    comm_.all_reduce_max(std::span(values));
    expect(values == greatest, "all_reduce_max");
    values = values_from(rank_, count);
    auto request = comm_.start_all_reduce_max(values);
    Communicator::wait_all({&request, 1});
    expect(values == greatest, "start_all_reduce_max");
    values = values_from(rank_, count);
    comm_.all_reduce_min(values);
    expect(values == combined(count, [](std::int64_t a, std::int64_t b) { return std::min(a, b); }), "all_reduce_min");
    std::vector<double> fractions(static_cast<std::size_t>(count), rank_ + 0.25), most = fractions, sums = fractions;
    comm_.all_reduce_sum_for_report(fractions);
    comm_.all_reduce_rounded_sum(sums);
    expect(sums == fractions, "all_reduce_rounded_sum");
    // Thirds are rounded, so that orders of summation could be told apart.
    for (auto& value : sums) value = (rank_ + 1) / 3.0;
    comm_.all_reduce_rounded_sum(sums);
    auto of_root = sums;
    comm_.broadcast(writable_bytes_of(of_root), 0);
    expect(sums == of_root, "all_reduce_rounded_sum on all ranks");
    comm_.all_reduce_max(std::span(most));
    for (std::size_t i = 0; i < most.size(); ++i) {
      expect(fractions[i] == n_ * (n_ - 1) / 2 + 0.25 * n_, "all_reduce_sum_for_report");
      expect(most[i] == n_ - 0.75, "all_reduce_max of doubles");
    }
  }

  void broadcast(std::int64_t count, int root) {
    auto values = values_from(rank_, count);
    comm_.broadcast(writable_bytes_of(values), root);
    expect(values == values_from(root, count), "broadcast");
  }

  /// Returns the blocks of all ranks one after the other; that of a rank has `count_of(rank)` values.
  template <class CountOf>
  Values side_by_side(CountOf&& count_of) const {
    Values all;
    for (int rank = 0; rank < n_; ++rank)
      for (const auto value : values_from(rank, count_of(rank))) all.push_back(value);
    return all;
  }

  void gather(std::int64_t count, int root) {
    Values all(rank_ == root ? static_cast<std::size_t>(n_ * count) : 0);
    comm_.gather(bytes_of(values_from(rank_, count)), writable_bytes_of(all), root);
    expect(rank_ != root || all == side_by_side([&](int) { return count; }), "gather of blocks of one size");
  }

  /// Returns the number of values of a rank's block; some blocks are empty.
  std::int64_t uneven(int rank, std::int64_t count) const { return rank % 3 == 1 ? 0 : count + rank; }

  bool is_right(const std::vector<std::vector<std::byte>>& blocks, std::int64_t count) const {
    for (int rank = 0; rank < n_; ++rank) {
      const auto found = values_of<std::int64_t>(blocks[static_cast<std::size_t>(rank)]);
      if (Values(found.begin(), found.end()) != values_from(rank, uneven(rank, count))) return false;
    }
    return true;
  }

  void gather_any(std::int64_t count, int root) {
    const auto blocks = comm_.gather(bytes_of(values_from(rank_, uneven(rank_, count))), root);
    expect(rank_ == root ? static_cast<int>(blocks.size()) == n_ && is_right(blocks, count) : blocks.empty(), "gather");
  }

  void all_gather(std::int64_t count) {
    const auto count_of = [&](int rank) { return uneven(rank, count); };
    Values sizes;
    for (int rank = 0; rank < n_; ++rank) sizes.push_back(8 * count_of(rank));
    Values all(static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) / 8));
    comm_.all_gather(bytes_of(values_from(rank_, count_of(rank_))), sizes, writable_bytes_of(all));
    expect(all == side_by_side(count_of), "all_gather of blocks of known sizes");
  }

  void reduce_scatter(std::int64_t count) {
    Values sizes, offsets{0};
    for (int rank = 0; rank < n_; ++rank) {
      sizes.push_back(uneven(rank, count));
      offsets.push_back(offsets.back() + sizes.back());
    }
    auto sum = values_from(rank_, offsets.back());
    Values own(static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank_)]));
    comm_.reduce_scatter_sum(sum, sizes, own);
    comm_.all_reduce_sum(sum);
    expect(std::equal(own.begin(), own.end(), sum.begin() + offsets[static_cast<std::size_t>(rank_)]),
           "reduce_scatter_sum");
  }

  void all_gather_any(std::int64_t count) {
    expect(is_right(comm_.all_gather(bytes_of(values_from(rank_, uneven(rank_, count)))), count), "all_gather");
  }

  /// Returns the values that rank `from` sends to rank `to`.
  Values between(int from, int to, std::int64_t count) const { return values_from(n_ * from + to, count); }

  Values of_pairs(bool are_sent, std::int64_t count) const {
    Values all;
    for (int peer = 0; peer < n_; ++peer)
      for (const auto value : are_sent ? between(rank_, peer, count) : between(peer, rank_, count))
        all.push_back(value);
    return all;
  }

  void all_to_all(std::int64_t count) {
    Values incoming(static_cast<std::size_t>(n_ * count));
    comm_.all_to_all(bytes_of(of_pairs(true, count)), writable_bytes_of(incoming));
    expect(incoming == of_pairs(false, count), "all_to_all of blocks of one size");
  }

  void all_to_all_any(std::int64_t count) {
    const auto count_of = [&](int from, int to) { return (from + 2 * to) % 3 == 0 ? 0 : count + from; };
    std::vector<std::vector<std::byte>> outgoing;
    for (int peer = 0; peer < n_; ++peer) {
      const auto values = between(rank_, peer, count_of(rank_, peer));
      const auto bytes = bytes_of(values);
      outgoing.emplace_back(bytes.begin(), bytes.end());
    }
    const auto incoming = comm_.all_to_all(outgoing);
    for (int peer = 0; peer < n_; ++peer) {
      const auto found = values_of<std::int64_t>(incoming[static_cast<std::size_t>(peer)]);
      expect(Values(found.begin(), found.end()) == between(peer, rank_, count_of(peer, rank_)), "all_to_all");
    }
  }

  /// Checks all_to_all with blocks that stand in the opposite order of their ranks.
  void all_to_all_at_offsets(std::int64_t count) {
    const Values sizes(static_cast<std::size_t>(n_), 8 * count);
    Values offsets, outgoing(static_cast<std::size_t>(n_ * count)), incoming(outgoing.size()),
        expected(outgoing.size());
    for (int peer = 0; peer < n_; ++peer) {
      const auto begin = (n_ - 1 - peer) * count;
      offsets.push_back(8 * begin);
      std::ranges::copy(between(rank_, peer, count), outgoing.begin() + begin);
      std::ranges::copy(between(peer, rank_, count), expected.begin() + begin);
    }
    comm_.all_to_all(bytes_of(outgoing).data(), sizes, offsets, writable_bytes_of(incoming).data(), sizes, offsets);
    expect(incoming == expected, "all_to_all of blocks at offsets");
  }

  const Communicator& comm_;
  int n_, rank_;
};

}  // namespace

std::vector<std::string> wrong_operations(const Communicator& comm) {
  Check check(comm);
  check.check_everything();
  return check.wrong;
}

}  // namespace tessera::comm
