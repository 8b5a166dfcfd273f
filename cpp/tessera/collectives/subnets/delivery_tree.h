// Builds trees along the subnets of a network, packed so that no wire carries more than it must: each tree takes into
// account what the trees before it have laid on every wire, and uses the hosts and the order of subnets that are least
// busy. With one port a host this spreads the trees of a long vector over all ports of a subnet; with a thin link
// between subnets each tree crosses that link once. It is ECO's tree of subnets (Lowekamp and Beguelin 1995, §4), but
// with one tree, and where allowed one root, for every piece of the data, which removes the bottleneck at the root
// (§7).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/machine/wires.h"

namespace tessera::collectives {

/// Says how the parts of one level pass data on: each part to the next; part i to 2i + 1 and 2i + 2; part i to i + 2^k;
/// or the first part to all others.
enum class Pattern { chain, binary, binomial, star };

/// The patterns of one level: each subnet uses the one for the medium that joins its parts (Lowekamp and Beguelin 1995,
/// §7).
struct LevelPatterns {
  Pattern on_switch = Pattern::chain;
  Pattern on_bus = Pattern::chain;
};

/// Parses "chain", or "chain/star" with another pattern for parts that share a bus, or such a word for each level of
/// the network from the top down, "chain,binomial/star", of which the last holds for all levels below. Throws
/// InputError for another word.
std::vector<LevelPatterns> patterns_of(const std::string& text);

struct TreeEdge {
  int parent = 0;
  int child = 0;
};

class DeliveryTrees {
 public:
  DeliveryTrees(const machine::Wires& wires, std::vector<LevelPatterns> patterns);
  ~DeliveryTrees();

  enum class Direction { from_root, to_root };
  /// Returns the edges of a tree over all ranks in an order in which data can flow away from the root (for to_root,
  /// read it backwards), and adds `bytes` to the load of the wires that it uses.
  std::vector<TreeEdge> add_tree(int root, double bytes, Direction direction);

  /// Returns all ranks in an order in which consecutive ones are far from each other in the network, for roots that
  /// take turns.
  const std::vector<int>& spread_roots() const { return spread_; }

 private:
  struct NetworkPart;
  void deliver(const NetworkPart& part, int entry, std::size_t level, std::vector<TreeEdge>& edges);
  Pattern pattern_of(const NetworkPart& part, std::size_t level) const;
  std::vector<const NetworkPart*> order_of(const NetworkPart& part, int entry, Pattern pattern);
  double pace_of(const NetworkPart& part) const;
  std::size_t giver_of(const NetworkPart& part, const std::vector<const NetworkPart*>& order,
                       const std::vector<int>& entries, Pattern pattern) const;
  TreeEdge crossing(const NetworkPart& from, int entry, const NetworkPart& to) const;
  template <class Visit>
  void for_wires(int parent, int child, Visit&& visit) const;
  double busiest(int parent, int child) const;
  void lay(int parent, int child);

  const machine::Wires& wires_;
  std::vector<LevelPatterns> patterns_;
  std::unique_ptr<NetworkPart> whole_;
  std::vector<int> spread_;
  std::vector<double> load_;                       // s, of each wire
  std::vector<double> pace_;                       // s/byte, of each wire
  std::vector<int> rank_wire_;                     // of each rank
  mutable std::vector<std::vector<int>> between_;  // wires between two hosts, by pair; empty: not looked up yet
  double bytes_ = 0;
  Direction direction_ = Direction::from_root;
  std::size_t n_trees_ = 0;
};

}  // namespace tessera::collectives
