#include "tessera/collectives/subnets/subnets.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/collectives/classical/build.h"
#include "tessera/collectives/predict.h"
#include "tessera/collectives/subnets/all_to_all.h"
#include "tessera/collectives/subnets/delivery_tree.h"

namespace tessera::collectives {
namespace {

using Direction = DeliveryTrees::Direction;

/// This is how far ranks may run ahead of what they wait for where fast levels feed slow ones. It is large enough for
/// the slow wires never to be idle, and small enough for the messages of fast levels not to occupy all processors
/// first.
constexpr int horizon_of_reductions = 64;

constexpr std::int64_t least_segment = 4096;  // bytes

/// A tree and the part of the data that travels along it.
struct TreeLoad {
  ElementRange piece;
  std::vector<TreeEdge> edges;
};

class Builder {
 public:
  Builder(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters& parameters)
      : problem_(problem), wires_(wires), parameters_(parameters), trees_(wires, patterns_of(parameters.pattern)) {}

  std::vector<PlannedMessage> take() { return std::move(messages_); }

  void barrier() {
    const ElementRange news{0, 1};
    const int root = central_rank(wires_, 0);
    send_up(load(root, news, Direction::to_root));
    send_down(load(root, news, Direction::from_root));
  }

  /// Adds messages along trees from their roots towards all ranks.
  void distribute() {
    for_pieces([&](int root, const ElementRange& piece) { send_down(load(root, piece, Direction::from_root)); });
  }

  /// Adds messages along trees towards their roots.
  void collect() {
    std::vector<TreeLoad> loads;
    for_pieces([&](int root, const ElementRange& piece) { loads.push_back(load(root, piece, Direction::to_root)); });
    if (has_levels()) {
      send_all_up(loads);
    } else {
      for (const auto& load : loads) send_up(load);
    }
  }

  void all_reduce() {
    const auto& roots = trees_.spread_roots();
    const auto all = pieces({0, problem_.blocks.front()}, problem_.element_bytes, parameters_.segment,
                            static_cast<std::int64_t>(problem_.n_ranks));
    const auto root = [&](std::size_t i) { return roots[i % roots.size()]; };
    if (!has_levels()) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        send_up(load(root(i), all[i], Direction::to_root));
        send_down(load(root(i), all[i], Direction::from_root));
      }
      return;
    }
    // All trees towards roots are laid before any tree from a root, so that each of the two phases loads the wires
    // evenly. Pieces go down in the order in which they are complete, the last first.
    std::vector<TreeLoad> loads;
    for (std::size_t i = 0; i < all.size(); ++i) loads.push_back(load(root(i), all[i], Direction::to_root));
    send_all_up(loads);
    for (auto i = all.size(); i-- > 0;) send_down(load(root(i), all[i], Direction::from_root));
  }

  /// Adds one tree, whose edges carry the blocks of all ranks below them; neighbouring blocks share a message.
  void scatter_or_gather(bool is_gather) {
    const auto offsets = problem_.offsets();
    const auto n = static_cast<std::size_t>(problem_.n_ranks);
    const auto edges = trees_.add_tree(
        problem_.root, static_cast<double>(offsets.back() * problem_.element_bytes) / static_cast<double>(n),
        is_gather ? Direction::to_root : Direction::from_root);
    std::vector<std::vector<int>> below(n);
    for (std::size_t r = 0; r < n; ++r) below[r] = {static_cast<int>(r)};
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
      auto& parent = below[static_cast<std::size_t>(edge->parent)];
      const auto& child = below[static_cast<std::size_t>(edge->child)];
      parent.insert(parent.end(), child.begin(), child.end());
    }
    for (auto& ranks : below) std::sort(ranks.begin(), ranks.end());
    const auto send = [&](const TreeEdge& edge) {
      const auto& ranks = below[static_cast<std::size_t>(edge.child)];
      for (std::size_t i = 0; i < ranks.size();) {
        auto end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
        const auto begin = offsets[static_cast<std::size_t>(ranks[i])];
        const ElementRange run{begin, offsets[static_cast<std::size_t>(ranks[end - 1]) + 1] - begin};
        for (const auto& piece : pieces(run, problem_.element_bytes, parameters_.segment)) {
          if (is_gather) {
            add(edge.child, edge.parent, piece, Effect::replace);
          } else {
            add(edge.parent, edge.child, piece, Effect::replace);
          }
        }
        i = end;
      }
    };
    if (is_gather) {
      for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) send(*edge);
    } else {
      for (const auto& edge : edges) send(edge);
    }
  }

 private:
  /// Cuts the vector of the problem's root into pieces, or else the blocks of all ranks, one of each in turn, so that
  /// all ranks have something to send from the start.
  template <class Use>
  void for_pieces(Use&& use) {
    if (problem_.blocks.size() == 1 && !has_blocks_by_rank(problem_.operation)) {
      for (const auto& piece : pieces({0, problem_.blocks.front()}, problem_.element_bytes, parameters_.segment))
        use(problem_.root, piece);
      return;
    }
    const auto offsets = problem_.offsets();
    std::vector<std::vector<ElementRange>> of_rank;
    std::size_t most = 0;
    for (int rank = 0; rank < problem_.n_ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      of_rank.push_back(pieces({offsets[r], problem_.blocks[r]}, problem_.element_bytes, parameters_.segment));
      most = std::max(most, of_rank.back().size());
    }
    for (std::size_t i = 0; i < most; ++i)
      for (const int rank : trees_.spread_roots())
        if (const auto& own = of_rank[static_cast<std::size_t>(rank)]; i < own.size()) use(rank, own[i]);
  }

  bool has_levels() const { return wires_.network().subnets.size() > 1; }

  TreeLoad load(int root, const ElementRange& piece, Direction direction) {
    return {piece, trees_.add_tree(root, bytes(piece), direction)};
  }

  void send_down(const TreeLoad& load) {
    for (const auto& edge : load.edges) add(edge.parent, edge.child, load.piece, Effect::replace);
  }

  void send_up(const TreeLoad& load) {
    for (auto edge = load.edges.rbegin(); edge != load.edges.rend(); ++edge)
      add(edge->child, edge->parent, load.piece, Effect::combine_left);
  }

  /// Sends all parts towards their roots. If all leaves sent at once, the fast levels would occupy the processors, and
  /// the slow levels would start only when they are done. So messages are ordered as in the mirror image, read
  /// backwards: in the same trees with data flowing down, slow links come first and fast ones follow as data arrives.
  void send_all_up(const std::vector<TreeLoad>& loads) {
    MessagePlan mirror;
    for (const auto& load : loads)
      for (const auto& edge : load.edges)
        mirror.messages.push_back(message(edge.parent, edge.child, load.piece, Effect::replace));
    const auto done = predict(mirror, problem_, wires_).done;
    std::vector<std::size_t> order(done.size());
    std::iota(order.begin(), order.end(), 0);
    // Only additions and comparisons are used, so all ranks find the same order. A message that waits for another one
    // comes after it.
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return std::pair(done[a], a) > std::pair(done[b], b); });
    for (const auto i : order) {
      auto& message = messages_.emplace_back(mirror.messages[i]);
      std::swap(message.from, message.to);
      message.effect = Effect::combine_left;
    }
  }

  double bytes(const ElementRange& piece) const { return static_cast<double>(piece.length * problem_.element_bytes); }
  static PlannedMessage message(int from, int to, const ElementRange& piece, Effect effect) {
    return {from, to, effect, Buffer::output, Buffer::output, piece.begin, piece.begin, piece.length};
  }
  void add(int from, int to, const ElementRange& piece, Effect effect) {
    messages_.push_back(message(from, to, piece, effect));
  }

  const CollectiveProblem& problem_;
  const machine::Wires& wires_;
  const Parameters& parameters_;
  DeliveryTrees trees_;
  std::vector<PlannedMessage> messages_;
};

bool is_collected(const CollectiveProblem& problem) {
  return problem.operation == Operation::reduce || problem.operation == Operation::reduce_scatter;
}

/// Returns whether some parts of three parts or more are buses and some are switches: only then do patterns differ.
bool has_buses_and_switches(const machine::Network& network) {
  bool has_bus = false, has_switch = false;
  for (const auto& subnet : network.subnets)
    if (subnet.hosts.size() + subnet.subnets.size() > 2)
      (subnet.medium == machine::Medium::bus ? has_bus : has_switch) = true;
  return has_bus && has_switch;
}

std::string size_text(std::int64_t bytes) {
  return bytes % 1024 == 0 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} B", bytes);
}

}  // namespace

bool can_subnets(const CollectiveProblem& problem, const machine::Wires&) {
  switch (problem.operation) {
    case Operation::scan:
    case Operation::exscan:
      return false;
    case Operation::all_gather:
    case Operation::all_to_all:
    case Operation::reduce_scatter: {  // a tree, or a message, for each pair of ranks
      const auto n = static_cast<std::size_t>(problem.n_ranks);
      if (n * (n - 1) > most_priced) return false;
      break;
    }
    default:
      break;
  }
  return problem.commutative || !problem.reduces();
}

MessagePlan plan_subnets(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters& parameters) {
  MessagePlan plan;
  plan.entry = "subnets";
  if (problem.operation == Operation::all_to_all) {
    return parameters.pattern == "gathered" ? plan_gathered_all_to_all(problem, wires, parameters.segment)
                                            : plan_direct_all_to_all(problem, wires);
  }
  plan.entry = fmt::format("subnets({}{})", parameters.pattern.empty() ? "chain" : parameters.pattern,
                           parameters.segment > 0 ? ", " + size_text(parameters.segment) : "");
  Builder builder(problem, wires, parameters);
  switch (problem.operation) {
    case Operation::barrier:
      builder.barrier();
      break;
    case Operation::broadcast:
    case Operation::all_gather:
      builder.distribute();
      break;
    case Operation::reduce:
    case Operation::reduce_scatter:
      builder.collect();
      break;
    case Operation::all_reduce:
      builder.all_reduce();
      break;
    case Operation::scatter:
    case Operation::gather:
      builder.scatter_or_gather(problem.operation == Operation::gather);
      break;
    default:
      break;
  }
  plan.messages = builder.take();
  if (is_collected(problem) && wires.network().subnets.size() > 1) plan.horizon = horizon_of_reductions;
  return plan;
}

std::vector<Parameters> candidates_subnets(const CollectiveProblem& problem, const machine::Wires& wires) {
  if (problem.operation == Operation::all_to_all) {
    Parameters direct, gathered;
    direct.pattern = "direct";
    gathered.pattern = "gathered";
    gathered.segment = 57344;
    return {direct, gathered};
  }
  const double bytes = static_cast<double>(problem.offsets().back() * problem.element_bytes);
  const bool by_rank = problem.blocks.size() > 1;
  const double piece_limit = by_rank ? bytes / problem.n_ranks : bytes;
  const bool has_levels = wires.network().subnets.size() > 1;
  const bool has_both_kinds = has_buses_and_switches(wires.network());
  const auto patterns = [&](std::int64_t segment) {
    std::vector<std::string> words{"chain", "binomial"};
    // The time of a vector in one piece depends on the depth of its tree; that of a vector in many pieces on the
    // busiest wire, which is the same for all patterns.
    const bool is_one_piece = segment == 0 && (!by_rank || piece_limit < least_segment);
    if (is_one_piece) words.insert(words.end(), {"star", "binary"});
    if (has_levels) words.insert(words.end(), {"chain,binomial", "binomial,chain"});
    if (has_levels && is_one_piece) words.insert(words.end(), {"star,chain", "star,binomial", "chain,star"});
    if (has_both_kinds) words.insert(words.end(), {"chain/star", "binomial/star", "chain/binomial", "binomial/chain"});
    return words;
  };
  std::vector<Parameters> candidates;
  // MPI libraries send messages of up to 64 KiB, less a header, at once. Before longer ones they ask the receiver, and
  // the question waits on every hop behind the data before it.
  for (const std::int64_t segment :
       {std::int64_t{0}, least_segment, 2 * least_segment, 4 * least_segment, 8 * least_segment}) {
    if (segment > 0 && static_cast<double>(segment) >= piece_limit) continue;
    const double n_pieces = segment > 0 ? bytes / static_cast<double>(segment) : by_rank ? problem.n_ranks : 1;
    if (segment > 0 && 2 * n_pieces * problem.n_ranks > static_cast<double>(most_priced)) continue;
    for (auto& pattern : patterns(segment)) {
      Parameters parameters;
      parameters.segment = segment;
      parameters.pattern = std::move(pattern);
      candidates.push_back(std::move(parameters));
    }
  }
  return candidates;
}

}  // namespace tessera::collectives
