#include "tessera/collectives/subnets/delivery_tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <sstream>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera::collectives {

namespace {

constexpr std::size_t most_permuted = 3;     // parts besides the first whose every order is tried
constexpr std::size_t most_candidates = 16;  // hosts of a part that are considered as its end of a crossing
constexpr double slower = 1.1;               // times as much time for a byte: such a part passes on less than others

/// Returns the part that passes data to part `i` (> 0).
std::size_t giver(Pattern pattern, std::size_t i) {
  switch (pattern) {
    case Pattern::chain:
      return i - 1;
    case Pattern::binary:
      return (i - 1) / 2;
    case Pattern::binomial:
      return i - std::bit_floor(i);
    case Pattern::star:
      return 0;
  }
  return 0;
}

}  // namespace

std::vector<LevelPatterns> patterns_of(const std::string& text) {
  static constexpr std::array<std::string_view, 4> names{"chain", "binary", "binomial", "star"};
  const auto pattern_named = [](const std::string& word) {
    const auto at = std::find(names.begin(), names.end(), word);
    if (at == names.end())
      throw InputError("unknown pattern \"" + word + "\" of a tree; there are chain, binary, binomial and star");
    return static_cast<Pattern>(at - names.begin());
  };
  std::vector<LevelPatterns> patterns;
  std::istringstream words(text.empty() ? "chain" : text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto slash = word.find('/');
    const auto on_switch = pattern_named(word.substr(0, slash));
    patterns.push_back({on_switch, slash == std::string::npos ? on_switch : pattern_named(word.substr(slash + 1))});
  }
  return patterns;
}

/// A part is the whole network, a subnet, a host or, at the bottom, a rank.
struct DeliveryTrees::NetworkPart {
  std::vector<int> ranks;          // all in it, in the order of the tree
  std::vector<int> candidates;     // one rank of each of up to most_candidates hosts; of a host: all its ranks
  std::vector<NetworkPart> parts;  // none: a rank
  bool is_host = false;
  bool is_bus = false;
  bool is_even = true;               // whether its parts pass data on at about the same pace
  double pace_out = 0, pace_in = 0;  // s/byte, between the part and those beside it

  bool has(int rank) const { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); }
};

DeliveryTrees::DeliveryTrees(const machine::Wires& wires, std::vector<LevelPatterns> patterns)
    : wires_(wires), patterns_(std::move(patterns)), load_(wires.wires().size(), 0) {
  const auto& network = wires.network();
  between_.resize(network.hosts.size() * network.hosts.size());
  for (const auto& wire : wires.wires()) pace_.push_back(1 / wire.bandwidth);
  for (int rank = 0; rank < wires.n_ranks(); ++rank) rank_wire_.push_back(wires.path(rank, rank).front());

  // Parts without ranks are left out, and a part that has only one part is replaced by it.
  const auto join = [](std::vector<NetworkPart> parts) {
    if (parts.size() == 1) return std::move(parts.front());
    NetworkPart joined;
    joined.parts = std::move(parts);
    for (const auto& part : joined.parts) joined.ranks.insert(joined.ranks.end(), part.ranks.begin(), part.ranks.end());
    return joined;
  };
  const auto host_part = [&](int host) {
    std::vector<NetworkPart> parts;
    for (const int rank : wires.ranks_on(host)) {
      auto& part = parts.emplace_back();
      part.ranks = part.candidates = {rank};
    }
    auto part = join(std::move(parts));
    part.candidates = part.ranks;
    part.is_host = true;
    return part;
  };
  const auto subnet_part = [&](auto&& self, int index) -> NetworkPart {
    const auto& subnet = network.subnets[static_cast<std::size_t>(index)];
    std::vector<NetworkPart> parts;
    for (const int host : subnet.hosts)
      if (!wires.ranks_on(host).empty()) parts.push_back(host_part(host));
    for (const int below : subnet.subnets)
      if (auto part = self(self, below); !part.ranks.empty()) parts.push_back(std::move(part));
    if (parts.empty()) return {};
    const bool is_joined = parts.size() > 1;
    if (is_joined)
      for (auto& part : parts) {
        part.pace_out = part.pace_in = std::numeric_limits<double>::infinity();
        for (const int rank : part.candidates) {
          part.pace_out = std::min(part.pace_out, wires.pace(wires.host_of(rank), index, true));
          part.pace_in = std::min(part.pace_in, wires.pace(wires.host_of(rank), index, false));
        }
      }
    const auto has_even = [&](double NetworkPart::*pace) {
      const auto [fastest, slowest] = std::ranges::minmax_element(parts, {}, pace);
      return (*slowest).*pace <= slower * ((*fastest).*pace);
    };
    const bool is_even = !is_joined || (has_even(&NetworkPart::pace_out) && has_even(&NetworkPart::pace_in));
    auto part = join(std::move(parts));
    if (is_joined) {
      part.is_bus = subnet.medium == machine::Medium::bus;
      part.is_even = is_even;
    }
    if (!part.is_host && !part.parts.empty()) {
      int last_host = -1;
      for (const int rank : part.ranks)
        if (wires.host_of(rank) != last_host && part.candidates.size() < most_candidates) {
          part.candidates.push_back(rank);
          last_host = wires.host_of(rank);
        }
    }
    return part;
  };
  whole_ = std::make_unique<NetworkPart>(subnet_part(subnet_part, 0));
  TESSERA_CHECK(static_cast<int>(whole_->ranks.size()) == wires.n_ranks());

  // A walk with a stride of about the golden section visits all ranks and never stays in one region for long.
  const auto n = whole_->ranks.size();
  auto stride = std::max<std::size_t>(1, static_cast<std::size_t>(0.618 * static_cast<double>(n)));
  while (std::gcd(stride, n) != 1) ++stride;
  for (std::size_t i = 0; i < n; ++i) spread_.push_back(whole_->ranks[i * stride % n]);
}

DeliveryTrees::~DeliveryTrees() = default;

std::vector<TreeEdge> DeliveryTrees::add_tree(int root, double bytes, Direction direction) {
  bytes_ = bytes;
  direction_ = direction;
  std::vector<TreeEdge> edges;
  deliver(*whole_, root, 0, edges);
  ++n_trees_;
  return edges;
}

/// Visits the wires of an edge, in any order. The same few pairs of hosts are looked up again and again, so their paths
/// are kept.
template <class Visit>
void DeliveryTrees::for_wires(int parent, int child, Visit&& visit) const {
  visit(static_cast<std::size_t>(rank_wire_[static_cast<std::size_t>(parent)]));
  visit(static_cast<std::size_t>(rank_wire_[static_cast<std::size_t>(child)]));
  if (wires_.host_of(parent) == wires_.host_of(child)) return;
  const bool down = direction_ == Direction::from_root;
  const int from = down ? parent : child, to = down ? child : parent;
  auto& between = between_[static_cast<std::size_t>(wires_.host_of(from)) * wires_.network().hosts.size() +
                           static_cast<std::size_t>(wires_.host_of(to))];
  if (between.empty()) {
    const auto path = wires_.path(from, to);
    between.assign(path.begin() + 1, path.end() - 1);
  }
  for (const int wire : between) visit(static_cast<std::size_t>(wire));
}

/// Returns the seconds on the busiest wire of this path if the tree's bytes used it, too.
double DeliveryTrees::busiest(int parent, int child) const {
  double most = 0;
  for_wires(parent, child, [&](std::size_t w) { most = std::max(most, load_[w] + bytes_ * pace_[w]); });
  return most;
}

void DeliveryTrees::lay(int parent, int child) {
  for_wires(parent, child, [&](std::size_t w) { load_[w] += bytes_ * pace_[w]; });
}

/// Returns the least busy pair of ranks that joins two parts; where several are equal, the rank that has the data first
/// sends.
TreeEdge DeliveryTrees::crossing(const NetworkPart& from, int entry, const NetworkPart& to) const {
  TreeEdge best{entry, to.ranks.front()};
  double least = 1e300;
  const auto consider = [&](int parent, int child) {
    if (const double seconds = busiest(parent, child); seconds < least * (1 - 1e-9)) {
      least = seconds;
      best = {parent, child};
    }
  };
  // The search for a receiver begins with another rank for each tree, so that equal ones take turns.
  const auto n = to.candidates.size();
  for (std::size_t i = 0; i < n; ++i) consider(entry, to.candidates[(i + n_trees_) % n]);
  for (const int parent : from.candidates) {
    if (wires_.host_of(parent) == wires_.host_of(entry)) continue;
    for (std::size_t i = 0; i < n; ++i) consider(parent, to.candidates[(i + n_trees_) % n]);
  }
  return best;
}

/// Returns the seconds a byte that a part takes to pass data on.
double DeliveryTrees::pace_of(const NetworkPart& part) const {
  return direction_ == Direction::from_root ? part.pace_out : part.pace_in;
}

/// Returns which of the parts that have the data passes it to the next one: the one of the pattern, or, where that is
/// slower than others, the least busy one.
std::size_t DeliveryTrees::giver_of(const NetworkPart& part, const std::vector<const NetworkPart*>& order,
                                    const std::vector<int>& entries, Pattern pattern) const {
  const auto next = entries.size();
  auto best = giver(pattern, next);
  if (part.is_even) return best;
  double fastest = pace_of(*order[best]);
  for (std::size_t i = 0; i < next; ++i) fastest = std::min(fastest, pace_of(*order[i]));
  if (pace_of(*order[best]) <= slower * fastest) return best;
  const auto seconds = [&](std::size_t i) { return busiest(entries[i], order[next]->ranks.front()); };
  double least = seconds(best);
  for (std::size_t i = 0; i < next; ++i)
    if (const double here = seconds(i); here < least * (1 - 1e-9)) {
      least = here;
      best = i;
    }
  return best;
}

/// Returns the parts in the order in which they get the data, the one of the entry first; those that are slower than
/// others come last, as the last ones pass on least.
std::vector<const DeliveryTrees::NetworkPart*> DeliveryTrees::order_of(const NetworkPart& part, int entry,
                                                                       Pattern pattern) {
  std::vector<const NetworkPart*> order;
  std::size_t first = 0;
  while (!part.parts[first].has(entry)) ++first;
  const auto n = part.parts.size();
  // Towards a root the ring is reversed, so that data always flows from a part to the next one.
  for (std::size_t i = 0; i < n; ++i)
    order.push_back(&part.parts[(direction_ == Direction::from_root ? first + i : first + n - i) % n]);
  if (n < 3) return order;
  if (n - 1 > most_permuted) {
    if (part.is_even) return order;
    double fastest = std::numeric_limits<double>::infinity();
    for (const auto* one : order) fastest = std::min(fastest, pace_of(*one));
    std::stable_partition(order.begin() + 1, order.end(),
                          [&](const auto* one) { return pace_of(*one) <= slower * fastest; });
    return order;
  }

  auto others = std::vector(order.begin() + 1, order.end());
  std::sort(others.begin(), others.end());
  auto best = order;
  double least = 1e300;
  const auto before = load_;
  const auto consider = [&] {
    std::vector<int> entries{entry};
    double most = 0;
    for (std::size_t i = 1; i < n; ++i) {
      const auto from = giver_of(part, order, entries, pattern);
      const auto edge = crossing(*order[from], entries[from], *order[i]);
      most = std::max(most, busiest(edge.parent, edge.child));
      if (most >= least) break;
      lay(edge.parent, edge.child);
      entries.push_back(edge.child);
    }
    load_ = before;
    if (most < least * (1 - 1e-9)) {
      least = most;
      best = order;
    }
  };
  consider();
  do {
    std::copy(others.begin(), others.end(), order.begin() + 1);
    consider();
  } while (std::next_permutation(others.begin(), others.end()));
  return best;
}

Pattern DeliveryTrees::pattern_of(const NetworkPart& part, std::size_t level) const {
  if (part.is_host) return part.parts.size() <= 4 ? Pattern::star : Pattern::binomial;
  const auto& patterns = patterns_[std::min(level, patterns_.size() - 1)];
  return part.is_bus ? patterns.on_bus : patterns.on_switch;
}

void DeliveryTrees::deliver(const NetworkPart& part, int entry, std::size_t level, std::vector<TreeEdge>& edges) {
  if (part.parts.empty()) return;
  const auto pattern = pattern_of(part, level);
  const auto order = order_of(part, entry, pattern);
  std::vector<int> entries{entry};
  std::vector<bool> is_delivered(order.size(), false);
  const auto deliver_in = [&](std::size_t i) {
    if (!is_delivered[i]) deliver(*order[i], entries[i], level + 1, edges);
    is_delivered[i] = true;
  };
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto from = giver_of(part, order, entries, pattern);
    const auto edge = crossing(*order[from], entries[from], *order[i]);
    if (edge.parent != entries[from]) deliver_in(from);  // a rank that gets the data inside its part first
    lay(edge.parent, edge.child);
    edges.push_back(edge);
    entries.push_back(edge.child);
  }
  for (std::size_t i = 0; i < order.size(); ++i) deliver_in(i);
}

}  // namespace tessera::collectives
