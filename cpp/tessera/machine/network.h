// The measured network as a value: hosts, and the subnets that they form, level by level (Lowekamp and Beguelin 1995,
// §4.1, applied again to the subnets). What was not measured is absent or `unknown`, never guessed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/machine/routes/routes.h"

namespace tessera::machine {

/// Time of a message of n bytes: latency + n / bandwidth; half of a round trip between two that do nothing else.
struct Link {
  double latency = 0;    // s
  double bandwidth = 0;  // bytes/s

  double time(double bytes) const { return latency + bytes / bandwidth; }
  friend bool operator==(const Link&, const Link&) = default;
};

/// Whether disjoint pairs that communicate at once share one bandwidth (a bus) or have one each (a switch).
enum class Medium { unknown, bus, fabric };

struct Host {
  std::string name;
  int slots = 1;               // ranks that a host file gives it
  std::optional<Link> inside;  // between two ranks on it, through shared memory

  friend bool operator==(const Host&, const Host&) = default;
};

/// Hosts, or smaller subnets, that reach each other over links of one class.
struct Subnet {
  int parent = -1;           // index in Network::subnets; -1: the whole network
  std::vector<int> subnets;  // its parts, by index in Network::subnets; empty in a leaf
  std::vector<int> hosts;    // of a leaf, by index in Network::hosts
  Link link;                 // between two hosts in different parts of it (leaf: between its hosts)
  Medium medium = Medium::unknown;
  std::optional<double> uplink;  // bytes/s that leave it in one direction when all of its hosts send out at once

  bool is_leaf() const { return subnets.empty(); }
  friend bool operator==(const Subnet&, const Subnet&) = default;
};

/// Hosts whose messages wait for the same processors: containers or virtual machines on one node, where these and not
/// the wires are the limit.
struct Processors {
  std::vector<int> hosts;  // by index in Network::hosts
  Link work;  // a message of n bytes keeps all of them busy for latency + n / bandwidth at each of its ends

  friend bool operator==(const Processors&, const Processors&) = default;
};

/// What is wrong with the name of a host, empty where nothing is. Names go into host files and onto the command lines
/// of launchers, so they hold neither white space nor control characters, nor `#` or `:`, and begin with no `-`.
std::string problem_of_host_name(const std::string& name);

struct Network {
  std::vector<Host> hosts;
  std::vector<Subnet> subnets;              // [0] is the whole; parents stand before their parts
  std::vector<Processors> processors = {};  // that hosts share; a host is in one of them at most
  std::optional<Routes> routes = {};        // where known; they say what uplinks say, and which messages meet

  /// The leaf that a host is in; -1 where no subnet lists it.
  int leaf_of(int host) const;
  /// Subnets from the leaf of a host up to the whole.
  std::vector<int> ancestors(int host) const;
  /// All hosts below a subnet, in the order of the tree.
  std::vector<int> hosts_of(int subnet) const;
  /// Throws InputError with what is wrong: a host in two subnets or none, a loop, a time or rate that is not finite and
  /// positive. `name` stands for the file in messages.
  void check(const std::string& name) const;

  friend bool operator==(const Network&, const Network&) = default;
};

/// A network without structure: n hosts on one switch, for when nothing was measured.
Network one_switch(const std::vector<Host>& hosts, Link link);

}  // namespace tessera::machine
