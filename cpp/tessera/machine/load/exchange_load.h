// Predicts the time of one exchange, in which all messages are under way at once, by the static load model of
// machine/wires.h: it takes as long as its busiest wire, plus the time that its busiest rank needs to start messages.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/machine/wires.h"

namespace tessera::machine {

class ExchangeLoad {
 public:
  /// Keeps a reference to `wires`.
  explicit ExchangeLoad(const Wires& wires);

  /// Adds a message. Consecutive messages between the same two hosts are added quickly.
  void add(int from, int to, double bytes);

  /// Returns the time of the exchange, s. If only the messages of a share of the ranks were added (`share` of all
  /// messages, at most 1), wires between hosts are extrapolated: subnets are assumed to be alike, or links to have a
  /// sample of their messages where routes are known.
  double seconds(double share = 1);

 private:
  void occupy(int wire, double bytes);
  void occupy_links();

  const Wires& wires_;
  std::vector<double> bytes_;    // by wire; loads are kept in bytes, so that adding a message reads nothing else of it
  std::vector<double> starts_;   // s, by rank: sends, receives
  std::vector<int> n_messages_;  // by wire
  // Consecutive messages from one host to another take the same path. With known links a path has many of them, so such
  // messages are added to the links together.
  struct {
    int from = -1, to = -1;         // ranks
    int sends = -1, receives = -1;  // their hosts
    double start = 0;               // s
    double bytes = 0;               // not yet added to links
  } way_;
};

/// Returns the share of all messages that some of the ranks send or receive, if all have as many.
inline double share_of_messages(std::size_t n_counted, std::size_t n_ranks) {
  const double share = static_cast<double>(n_counted) / static_cast<double>(n_ranks);
  return share * (2 - share);
}

/// Up to `most_ranks_to_count` ranks every message of an exchange is counted, which takes a tenth of a second; of more
/// ranks, the messages of about `counted_ranks` are.
inline constexpr std::size_t most_ranks_to_count = 1024, counted_ranks = 256;

/// Of halos, which go to neighbours, those of so many ranks are counted, the first ones: they follow each other on the
/// network, and links between them carry what links elsewhere do.
inline constexpr int most_halos_to_count = 16'384;

/// Returns the share to give ExchangeLoad::seconds() where the halos of the first `n_counted` ranks were added: links
/// of known routes have all their messages, subnets get the mean of what is alike.
inline double share_of_halos(const Wires& wires, int n_counted) {
  return wires.network().routes ? 1 : static_cast<double>(n_counted) / wires.n_ranks();
}

/// Returns `n` ranks or a few more as a sample: those of whole hosts, so that all messages of their ports are counted.
/// The hosts are spread evenly with the golden ratio as step, which the layout of no mesh shares. Of a host with more
/// than `most_of_a_host` ranks, as without a map, only some are returned.
std::vector<int> ranks_of_some_hosts(const Wires& wires, std::size_t n = counted_ranks,
                                     std::size_t most_of_a_host = most_ranks_to_count);

}  // namespace tessera::machine
