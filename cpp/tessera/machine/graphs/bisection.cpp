#include "tessera/machine/graphs/bisection.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <queue>
#include <utility>

#include "tessera/base/index.h"

namespace tessera::machine {
namespace {

constexpr int coarse_enough = 64;  // vertices; a graph of so many is cut from several seeds
constexpr int n_seeds = 8;
constexpr int most_passes = 8;         // of moves at a level; more gain next to nothing
constexpr int least_patience = 128;    // moves of a pass without a gain after which it ends,
constexpr int share_of_patience = 8;   // or this share of all vertices
constexpr double least_progress = .9;  // a coarser graph with more of the vertices is not worth its time

/// Improves a cut by moving vertices, and keeps the sizes of both parts.
class Moves {
 public:
  Moves(const Graph& graph, std::vector<bool>& is_second, int n_first)
      : graph_(graph), is_second_(is_second), gains_(at(graph.n())), is_moved_(at(graph.n())) {
    const int largest = *std::max_element(graph.sizes.begin(), graph.sizes.end());
    slack_ = largest - 1;
    surplus_ = -n_first;
    for (int v = 0; v < graph.n(); ++v)
      if (!is_second[at(v)]) surplus_ += graph.sizes[at(v)];
  }

  void improve() {
    for (int pass = 0; pass < most_passes && improves(); ++pass) {
    }
  }

 private:
  using Candidate = std::pair<std::int64_t, int>;  // gain, −vertex: of equal ones the first

  int beyond(int surplus) const { return std::max(0, std::abs(surplus) - slack_); }

  void offer(int v) { candidates_[is_second_[at(v)] ? 1 : 0].emplace(gains_[at(v)], -v); }

  /// Returns the best vertex of a part that has not moved; -1: there is none.
  int best_of(int part) {
    auto& queue = candidates_[part];
    while (!queue.empty()) {
      const auto [gain, minus] = queue.top();
      const auto v = at(-minus);
      if (!is_moved_[v] && gains_[v] == gain && is_second_[v] == (part == 1)) return -minus;
      queue.pop();
    }
    return -1;
  }

  /// Returns the vertex to move next: from the part that is too large, else the one with the larger gain.
  int next() {
    const int a = surplus_ < -slack_ ? -1 : best_of(0);
    const int b = surplus_ > slack_ ? -1 : best_of(1);
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return gains_[at(a)] != gains_[at(b)] ? (gains_[at(a)] > gains_[at(b)] ? a : b) : (surplus_ >= 0 ? a : b);
  }

  void move(int v) {
    const bool was_second = is_second_[at(v)];
    surplus_ += was_second ? graph_.sizes[at(v)] : -graph_.sizes[at(v)];
    is_second_[at(v)] = !was_second;
  }

  /// Moves every vertex once at most, and goes back to the best cut on the way. Returns whether it is better than before.
  bool improves() {
    for (auto& queue : candidates_) queue = {};
    for (int v = 0; v < graph_.n(); ++v) {
      gains_[at(v)] = 0;
      for (const auto& end : graph_.of(v))
        gains_[at(v)] += is_second_[at(v)] != is_second_[at(end.vertex)] ? end.weight : -end.weight;
      is_moved_[at(v)] = false;
      offer(v);
    }
    const auto patience = at(std::max(least_patience, graph_.n() / share_of_patience));
    std::vector<int> moved;
    std::int64_t gain = 0;
    auto best = std::pair(beyond(surplus_), std::int64_t{0});  // less is better
    std::size_t n_best = 0;
    for (int v = next(); v >= 0 && moved.size() - n_best < patience; v = next()) {
      gain += gains_[at(v)];
      is_moved_[at(v)] = true;
      for (const auto& [to, weight] : graph_.of(v)) {
        if (is_moved_[at(to)]) continue;
        gains_[at(to)] += is_second_[at(v)] != is_second_[at(to)] ? -2 * weight : 2 * weight;
        offer(to);
      }
      move(v);
      moved.push_back(v);
      if (const auto now = std::pair(beyond(surplus_), -gain); now < best) best = now, n_best = moved.size();
    }
    for (; moved.size() > n_best; moved.pop_back()) move(moved.back());
    return n_best > 0;
  }

  const Graph& graph_;
  std::vector<bool>& is_second_;
  std::vector<std::int64_t> gains_;  // by vertex: the weight that no longer is cut when it moves
  std::vector<bool> is_moved_;
  std::priority_queue<Candidate> candidates_[2];
  int slack_ = 0;    // by which the sizes of parts may be wrong at this level
  int surplus_ = 0;  // of the first part
};

std::int64_t weight_cut(const Graph& graph, const std::vector<bool>& is_second) {
  std::int64_t weight = 0;
  for (int v = 0; v < graph.n(); ++v)
    for (const auto& end : graph.of(v))
      if (is_second[at(v)] != is_second[at(end.vertex)]) weight += end.weight;
  return weight;
}

/// Lets the first part grow from a vertex, each time by the one that is joined to it most.
std::vector<bool> grow(const Graph& graph, int seed, int n_first) {
  std::vector<bool> is_second(at(graph.n()), true);
  std::vector<std::int64_t> pull(at(graph.n()), 0);  // weight towards the part less that of all others
  for (int v = 0; v < graph.n(); ++v)
    for (const auto& end : graph.of(v)) pull[at(v)] -= end.weight;
  int size = 0;
  for (int v = seed; v >= 0 && size + graph.sizes[at(v)] / 2 < n_first;) {
    is_second[at(v)] = false;
    size += graph.sizes[at(v)];
    for (const auto& end : graph.of(v)) pull[at(end.vertex)] += 2 * end.weight;
    v = -1;
    for (int u = 0; u < graph.n(); ++u)
      if (is_second[at(u)] && (v < 0 || pull[at(u)] > pull[at(v)])) v = u;
  }
  return is_second;
}

/// Cuts a small graph from several seeds.
std::vector<bool> cut_small(const Graph& graph, int n_first) {
  std::vector<bool> best;
  std::pair<int, std::int64_t> least;
  for (int i = 0; i < std::min(n_seeds, graph.n()); ++i) {
    auto cut = grow(graph, i * graph.n() / std::min(n_seeds, graph.n()), n_first);
    Moves(graph, cut, n_first).improve();
    int size = -n_first;
    for (int v = 0; v < graph.n(); ++v)
      if (!cut[at(v)]) size += graph.sizes[at(v)];
    const auto cost = std::pair(std::abs(size), weight_cut(graph, cut));
    if (best.empty() || cost < least) best = std::move(cut), least = cost;
  }
  return best;
}

/// Returns the vertex of a coarser graph that each vertex becomes part of: pairs with heavy edges, else pairs with the
/// same heaviest neighbour, such as the leaves of a star.
std::vector<int> pair_up(const Graph& graph, int largest) {
  const auto n = at(graph.n());
  std::vector<int> mate(n, -1);
  std::vector<int> waiting(n + 1, -1);  // by heaviest neighbour; the last for vertices that have none
  for (int v = 0; v < graph.n(); ++v) {
    if (mate[at(v)] >= 0) continue;
    int best = -1;
    auto heaviest = n;
    std::int64_t most = -1, weight = -1;
    for (const auto& end : graph.of(v)) {
      if (end.weight > most) most = end.weight, heaviest = at(end.vertex);
      const int size = graph.sizes[at(end.vertex)];
      if (mate[at(end.vertex)] >= 0 || size + graph.sizes[at(v)] > largest || end.weight < weight) continue;
      if (end.weight > weight || size < graph.sizes[at(best)]) best = end.vertex, weight = end.weight;
    }
    if (auto& other = waiting[heaviest]; best < 0) {
      if (other >= 0 && mate[at(other)] < 0 && graph.sizes[at(other)] + graph.sizes[at(v)] <= largest) best = other;
      other = best < 0 ? v : -1;
    }
    if (best >= 0) mate[at(v)] = best, mate[at(best)] = v;
  }
  std::vector<int> part_of(n, -1);
  int n_parts = 0;
  for (std::size_t v = 0; v < n; ++v) {
    if (part_of[v] >= 0) continue;
    part_of[v] = n_parts;
    if (mate[v] >= 0) part_of[at(mate[v])] = n_parts;
    ++n_parts;
  }
  return part_of;
}

/// Returns the graph in which all vertices of a part are one.
Graph merge(const Graph& graph, const std::vector<int>& part_of) {
  const int n_parts = *std::max_element(part_of.begin(), part_of.end()) + 1;
  std::vector<std::vector<int>> members(at(n_parts));
  for (int v = 0; v < graph.n(); ++v) members[at(part_of[at(v)])].push_back(v);
  Graph coarse;
  coarse.sizes.assign(at(n_parts), 0);
  std::vector<std::size_t> place(at(n_parts), 0);  // by part: one more than where its edge is, if it has one
  for (int part = 0; part < n_parts; ++part) {
    const auto begin = coarse.ends.size();
    for (const int v : members[at(part)]) {
      coarse.sizes[at(part)] += graph.sizes[at(v)];
      for (const auto& end : graph.of(v)) {
        const int other = part_of[at(end.vertex)];
        if (other == part) continue;
        auto& known = place[at(other)];
        if (known <= begin) {
          coarse.ends.push_back({other, 0});
          known = coarse.ends.size();
        }
        coarse.ends[known - 1].weight += end.weight;
      }
    }
    coarse.first.push_back(coarse.ends.size());
  }
  return coarse;
}

std::vector<bool> cut(const Graph& graph, int n_first, int largest) {
  if (graph.n() <= coarse_enough) return cut_small(graph, n_first);
  const auto part_of = pair_up(graph, largest);
  const auto coarse = merge(graph, part_of);
  if (coarse.n() > least_progress * graph.n()) return cut_small(graph, n_first);
  const auto parts = cut(coarse, n_first, largest);
  std::vector<bool> is_second(at(graph.n()));
  for (std::size_t v = 0; v < is_second.size(); ++v) is_second[v] = parts[at(part_of[v])];
  Moves(graph, is_second, n_first).improve();
  return is_second;
}

}  // namespace

std::vector<bool> bisect(const Graph& graph, int n_first) {
  // The lesser part grows, so that a few vertices are found in no time.
  const int n_least = std::max(0, std::min(n_first, graph.n() - n_first));
  if (n_least == 0) return std::vector<bool>(at(graph.n()), n_first <= 0);
  // Vertices of coarser graphs stay so small that parts can have the sizes asked for.
  auto is_second = cut(graph, n_least, std::max(1, std::min(n_least, 3 * graph.n() / coarse_enough) / 2));
  if (n_least != n_first) is_second.flip();
  return is_second;
}

}  // namespace tessera::machine
