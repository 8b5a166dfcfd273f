// What messages compete for: every message between two ranks occupies a list of wires, each for bytes / bandwidth of
// the wire. This is the static load model by which plans are judged without running them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/machine/network.h"

namespace tessera::machine {

struct Wire {
  std::string name;      // "n3 out", "rack0 up", "segment a", "rank 5"
  double bandwidth = 0;  // bytes/s
};

/// The wires of a network as the ranks of one job see them. Wires are: every rank (its core copies each message once,
/// at the memory's rate); every host's port in and out, for each level of the network at which it talks; every bus;
/// every subnet's uplink in and out. A message that crosses levels occupies its ports of all levels below, every bus
/// and every uplink on its way.
class Wires {
 public:
  /// `host_of_rank[r]`: index in network.hosts.
  Wires(const Network& network, std::vector<int> host_of_rank);

  int n_ranks() const { return static_cast<int>(host_of_rank_.size()); }
  int host_of(int rank) const { return host_of_rank_[static_cast<std::size_t>(rank)]; }
  const Network& network() const { return network_; }
  std::span<const Wire> wires() const { return wires_; }

  /// Wires of a message from one rank to another, sender's side first. Valid until the next call of path.
  std::span<const int> path(int from, int to) const;
  double latency(int from, int to) const;
  /// Seconds of a message alone on the network.
  double time(int from, int to, double bytes) const;
  /// 0: same host, 1: same leaf subnet, 2: same parent of leaves, and so on.
  int level(int from, int to) const;

 private:
  int common_subnet(int host_a, int host_b) const;

  Network network_;
  std::vector<int> host_of_rank_;
  std::vector<Wire> wires_;
  std::vector<std::vector<int>> ancestors_;  // of each host, leaf first
  std::vector<int> rank_wire_;               // of each rank
  std::vector<std::vector<int>> out_, in_;   // of each host, by level (0: leaf)
  std::vector<int> bus_, up_, down_;         // of each subnet; -1: none
  mutable std::vector<int> path_;
};

}  // namespace tessera::machine
