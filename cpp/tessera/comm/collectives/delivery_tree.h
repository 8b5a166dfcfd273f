// Trees along the subnets of a network, packed so that no wire carries more than it must: each tree sees what the trees
// before it have laid on every wire, and takes the hosts and the order of subnets that are least busy. With one port a
// host this spreads the trees of a long vector over all ports of a subnet; with a thin link between subnets it crosses
// that link once a tree. It is ECO's tree of subnets (paper 002, §4) with a tree, and where allowed a root, for every
// piece of the data, which takes away the bottleneck at the root (§7).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/machine/wires.h"

namespace tessera::comm::collectives {

/// How the parts of one level hand data on: each to the next; part i to 2i + 1 and 2i + 2; part i to i + 2^k; the first
/// to all.
enum class Pattern { chain, binary, binomial, star };

/// Of one level: a subnet has the one that suits what joins its parts (paper 002, §7).
struct LevelPatterns {
  Pattern on_switch = Pattern::chain;
  Pattern on_bus = Pattern::chain;
};

/// "chain", or "chain/star": another one where the parts share a bus; or such a word for each level of the network from
/// the top down, "chain,binomial/star"; the last holds for all levels below. Throws InputError for another word.
std::vector<LevelPatterns> patterns_of(const std::string& text);

struct Edge {
  int parent = 0;
  int child = 0;
};

class DeliveryTrees {
 public:
  DeliveryTrees(const machine::Wires& wires, std::vector<LevelPatterns> patterns);
  ~DeliveryTrees();

  enum class Direction { from_root, to_root };
  /// Edges of a tree over all ranks in an order in which data can flow away from the root (to_root: read it backwards).
  /// Its `bytes` are laid on the wires.
  std::vector<Edge> add_tree(int root, double bytes, Direction direction);

  /// All ranks, each as often a root as any other; consecutive ones are far from each other in the network.
  const std::vector<int>& spread_roots() const { return spread_; }

 private:
  struct Part;
  void deliver(const Part& part, int entry, std::size_t level, std::vector<Edge>& edges);
  Pattern pattern_of(const Part& part, std::size_t level) const;
  std::vector<const Part*> order_of(const Part& part, int entry, Pattern pattern);
  Edge crossing(const Part& from, int entry, const Part& to) const;
  template <class Visit>
  void for_wires(int parent, int child, Visit&& visit) const;
  double busiest(int parent, int child) const;
  void lay(int parent, int child);

  const machine::Wires& wires_;
  std::vector<LevelPatterns> patterns_;
  std::unique_ptr<Part> whole_;
  std::vector<int> spread_;
  std::vector<double> load_;                       // s, of each wire
  std::vector<double> pace_;                       // s/byte, of each wire
  std::vector<int> rank_wire_;                     // of each rank
  mutable std::vector<std::vector<int>> between_;  // wires between two hosts, by pair; empty: not looked up yet
  double bytes_ = 0;
  Direction direction_ = Direction::from_root;
  std::size_t n_trees_ = 0;
};

}  // namespace tessera::comm::collectives
