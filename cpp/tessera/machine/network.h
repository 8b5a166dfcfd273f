// Describes the measured network as a value: hosts, and the subnets that they form, level by level (Lowekamp and
// Beguelin 1995, §4.1, applied again to the subnets). What was not measured is absent or `unknown`, never guessed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/machine/routes/routes.h"

namespace tessera::machine {

/// The time of a message of n bytes is latency + n / bandwidth, which is half of a round trip between two otherwise
/// idle hosts.
struct Link {
  double latency = 0;    // s
  double bandwidth = 0;  // bytes/s

  double time(double bytes) const { return latency + bytes / bandwidth; }
  friend bool operator==(const Link&, const Link&) = default;
};

/// Tells whether disjoint pairs that communicate at the same time share one bandwidth (a bus) or have one each (a
/// switch).
enum class Medium { unknown, bus, fabric };

struct Host {
  std::string name;
  int slots = 1;               // number of ranks that a host file gives it
  std::optional<Link> inside;  // between two of its ranks, through shared memory

  friend bool operator==(const Host&, const Host&) = default;
};

/// Describes a set of hosts, or of smaller subnets, that reach each other over links of one class.
struct Subnet {
  int parent = -1;           // index in Network::subnets; -1: the whole network
  std::vector<int> subnets;  // indices in Network::subnets of its parts; empty in a leaf
  std::vector<int> hosts;    // indices in Network::hosts of a leaf's hosts
  Link link;                 // between two hosts in different parts (leaf: between its hosts)
  Medium medium = Medium::unknown;
  std::optional<double> uplink;  // bytes/s that leave it in one direction if all of its hosts send at the same time

  bool is_leaf() const { return subnets.empty(); }
  friend bool operator==(const Subnet&, const Subnet&) = default;
};

/// Describes hosts whose messages compete for the same processors: containers or virtual machines on one node, where
/// the processors and not the wires are the limit.
struct Processors {
  std::vector<int> hosts;  // indices in Network::hosts
  Link work;               // a message of n bytes occupies them for latency + n / bandwidth at each of its ends

  friend bool operator==(const Processors&, const Processors&) = default;
};

/// What others sent when the map was last asked for it, as shares (0 to 1) of the rates of wires. Unlike links it is of
/// one moment: it has a date, is replaced as a whole, and is never merged.
struct Traffic {
  struct Port {
    double out = 0, in = 0;
    friend bool operator==(const Port&, const Port&) = default;
  };
  struct Lines {
    double bus = 0, up = 0, down = 0;
    friend bool operator==(const Lines&, const Lines&) = default;
  };
  /// Shares are kept below this, so that something is left of each wire.
  static constexpr double most = 0.99;

  std::string date;            // UTC: 2026-11-28T06:15:00Z
  std::vector<Port> ports;     // of each host
  std::vector<Lines> subnets;  // of each subnet

  /// Returns how many wires others use.
  int n_busy() const;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// Returns what is wrong with the name of a host, empty if nothing is. Names are written to host files and command
/// lines of launchers, so they contain no white space, control characters, `#` or `:`, and do not start with `-`.
std::string problem_of_host_name(const std::string& name);

struct Network {
  std::vector<Host> hosts;
  std::vector<Subnet> subnets;              // [0] is the whole; parents precede their parts
  std::vector<Processors> processors = {};  // shared by hosts; a host is in at most one of them
  std::optional<Routes> routes = {};        // if known; they replace uplinks, and tell which messages share links
  std::optional<Traffic> traffic = {};      // of others; absent: none is known, and all wires are thought to be idle

  /// Returns the leaf that a host is in; -1 if no subnet lists it.
  int leaf_of(int host) const;
  /// Returns the subnets from the leaf of a host up to the whole.
  std::vector<int> ancestors(int host) const;
  /// Returns all hosts below a subnet, in the order of the tree.
  std::vector<int> hosts_of(int subnet) const;
  /// Throws InputError with the fault: a host in two subnets or none, a loop, or a time or rate that is not finite and
  /// positive. `name` stands for the file in messages.
  void check(const std::string& name) const;

  friend bool operator==(const Network&, const Network&) = default;
};

/// Returns a network without structure: all hosts are on one switch. It is used if nothing was measured.
Network one_switch(const std::vector<Host>& hosts, Link link);

}  // namespace tessera::machine
