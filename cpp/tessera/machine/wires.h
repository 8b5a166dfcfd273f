// Models what messages compete for: every message between two ranks occupies a list of wires, each for bytes /
// bandwidth of the wire. Plans are judged by this static load model without being run. Of a wire that others use there
// is less: the traffic of the map takes its share, and groups of ranks that communicate at once share it evenly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/machine/network.h"

namespace tessera::machine {

struct Wire {
  std::string name;        // "n3 out", "subnet 1 up", "subnet 2 bus", "rank 5", "processors 0", "link 7"
  double bandwidth = 0;    // bytes/s that others leave
  double per_message = 0;  // s
  int n_other_ranks = 0;   // of processors: ranks of other groups that take turns on them
  bool is_processors = false;
  bool is_of_subnet = false;  // whether it is a subnet's bus or uplink
};

/// Holds the wires of a network that the ranks of one job use. Wires are: every rank (its core copies each message
/// once, at the memory's rate); every host's port in and out, for each level of the network at which it communicates;
/// every bus; every subnet's uplink in and out; processors that hosts share. A message that crosses levels occupies its
/// ports of all levels below, every bus and every uplink on its path. If routes are known, the links on its path
/// replace uplinks. Wires of ranks come first, by rank.
class Wires {
 public:
  /// This link is assumed for shared memory that was not measured.
  static constexpr Link unmeasured_inside = {1e-6, 5e9};

  /// Takes the index in network.hosts of each rank's host, and the same of each other group of ranks that does as much
  /// at the same time. Throws InputError if the network is invalid (Network::check).
  Wires(const Network& network, std::vector<int> host_of_rank, std::span<const std::vector<int>> at_once = {});

  int n_ranks() const { return static_cast<int>(host_of_rank_.size()); }
  int host_of(int rank) const { return host_of_rank_[static_cast<std::size_t>(rank)]; }
  /// Returns the ranks on a host, ascending; none on a host that the job does not use.
  std::span<const int> ranks_on(int host) const { return ranks_on_[static_cast<std::size_t>(host)]; }
  /// Returns the number of hosts that have ranks.
  int n_hosts() const { return n_hosts_; }
  const Network& network() const { return network_; }
  /// Returns a number that differs (almost surely) where other groups share other wires; 0 where they share none.
  std::uint64_t sharing() const { return sharing_; }
  std::span<const Wire> wires() const { return wires_; }

  /// Returns the wires of a message from one rank to another, sender's side first. Valid until the next call of path or
  /// time.
  std::span<const int> path(int from, int to) const;
  /// Returns the wire for the processors that a host shares with others, which a message between hosts occupies at each
  /// of its ends; -1: none. It is not part of a path, as all paths load it alike.
  int processors_of(int host) const { return processors_[static_cast<std::size_t>(host)]; }
  /// Returns the time of a message without bytes, s.
  double latency(int from, int to) const;
  /// Returns the time of a message alone on the network, s.
  double time(int from, int to, double bytes) const;
  /// Returns the seconds a byte (out: leaving; else arriving) on the slowest wire between a host and the inside of a
  /// subnet that it is in, where it turns round.
  double pace(int host, int subnet, bool is_out) const;
  /// Returns 0 on the same host, 1 in the same leaf subnet, 2 for the same parent of leaves, and so on (if branches
  /// differ in depth, by the deepest below the common subnet).
  int level(int from, int to) const;

 private:
  /// Lists the wires of one direction of one host: its ports, then the buses and uplinks, leaf first. Only existing
  /// ones are listed.
  struct Side {
    std::vector<int> ports, lines;
    std::vector<std::size_t> n_ports, n_lines;  // by level: how many of each a message uses that turns round there
  };

  /// Adds the ranks of a group to those that use each wire, once a group: `n_users` of each wire.
  void add_users(const std::vector<int>& host_of_rank, std::vector<int>& n_users);
  Side side_of(int host, bool is_out) const;
  int common_subnet(int host_a, int host_b) const;
  int add(std::string name, double bandwidth);

  Network network_;
  std::vector<int> host_of_rank_;
  std::vector<std::vector<int>> ranks_on_;  // by host
  int n_hosts_ = 0;
  std::vector<Wire> wires_;
  std::vector<std::vector<int>> ancestors_;  // by host, leaf first
  std::vector<int> depth_, height_;          // by subnet: edges up to the whole, down to the deepest leaf
  std::vector<int> rank_wire_;               // by rank
  std::vector<int> processors_;              // by host; -1: its own
  std::vector<std::vector<int>> out_, in_;   // ports of each host, by level (0: leaf); -1: none
  std::vector<int> bus_, up_, down_;         // by subnet; -1: none
  std::uint64_t sharing_ = 0;
  int first_link_ = 0;                   // index of the routes' first link
  std::vector<Side> sender_, receiver_;  // by host
  mutable std::vector<int> path_;
};

}  // namespace tessera::machine
