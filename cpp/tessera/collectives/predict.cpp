#include "tessera/collectives/predict.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tessera/collectives/hazards.h"

namespace tessera::collectives {
namespace {

/// Lists the messages that wait for each message, and the number of messages that each waits for.
struct Graph {
  std::vector<int> first;  // into `followers`, one more than messages
  std::vector<int> followers;
  std::vector<int> n_waits;
};

Graph graph_of(const MessagePlan& plan, int n_ranks) {
  const auto n = plan.messages.size();
  Hazards hazards(plan, 0, n_ranks);
  std::vector<std::pair<int, int>> edges;  // before, after
  std::vector<int> waits;
  Graph graph{std::vector<int>(n + 1, 0), {}, std::vector<int>(n, 0)};
  for (std::size_t i = 0; i < n; ++i) {
    const auto& message = plan.messages[i];
    const int index = static_cast<int>(i);
    waits.clear();
    hazards.read(index, message.from, message.source, message.begin, message.length, waits);
    hazards.write(index, message.to, message.target, message.at, message.length, waits);
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    for (const int before : waits) {
      edges.emplace_back(before, index);
      ++graph.first[static_cast<std::size_t>(before) + 1];
    }
    graph.n_waits[i] = static_cast<int>(waits.size());
  }
  for (std::size_t i = 0; i < n; ++i) graph.first[i + 1] += graph.first[i];
  graph.followers.resize(edges.size());
  auto at = graph.first;
  for (const auto& [before, after] : edges)
    graph.followers[static_cast<std::size_t>(at[static_cast<std::size_t>(before)]++)] = after;
  return graph;
}

/// A message on its path: the time at which its head arrives, its number, and how many wires it has passed. Ties keep
/// the order of the plan.
using Event = std::tuple<double, int, int>;

/// A message never waits for a port or line that is this many times as fast as the slowest one of its path.
constexpr double never_felt = 16;

/// Each message keeps the cores at its ends busy for this share of the link's latency. Inside a host, latency is the
/// work of the two cores; between hosts it is mostly transit (the cores work for 22–80 µs of 350 over TCP, 0.2 of 1.5
/// over fast networks).
constexpr double busy_inside = 1, busy_between = 0.125;

// TCP is recognised by its latency. Messages of several hosts that arrive at one port at once lose packets, which are
// sent again, so a message that had to wait takes this much longer. So does a message that libraries send only after
// they have asked, because question and answer wait behind other data. The measured factors are 1.15 to 1.4
// (docs/guide/collectives.md).
constexpr double least_tcp_latency = 15e-6;
constexpr double crowded = 1.25, asked_first = 1.3;

/// The wires that messages from one host to another occupy, and the time that this takes.
struct WirePath {
  std::vector<int> wires;  // with the processors of the two hosts where they share them with others
  std::vector<int> felt;   // those of them that a message may wait for
  double latency = 0;      // s
  double overhead = 0;     // s, of a core at either end
  double round = 0;        // s, until all ranks had their turns on the processors of these hosts
  bool is_tcp = false;
};

WirePath wire_path_of(const machine::Wires& wires, const std::vector<int>& n_sharing, int from, int to) {
  const auto all = wires.wires();
  const auto path = wires.path(from, to);
  const int from_host = wires.host_of(from), to_host = wires.host_of(to);
  const bool is_inside = from_host == to_host;
  WirePath wire_path;
  wire_path.wires.assign(path.begin(), path.end());
  if (!is_inside)
    for (const int host : {from_host, to_host})
      if (const int wire = wires.processors_of(host); wire >= 0) {
        wire_path.wires.insert(wire_path.wires.begin() + 1, wire);
        wire_path.round = slice_of_a_rank * n_sharing[static_cast<std::size_t>(wire)];
      }
  double slowest = std::numeric_limits<double>::infinity();
  for (const int wire : wire_path.wires) slowest = std::min(slowest, all[static_cast<std::size_t>(wire)].bandwidth);
  for (std::size_t k = 0; k < wire_path.wires.size(); ++k) {
    const auto& wire = all[static_cast<std::size_t>(wire_path.wires[k])];
    const bool is_rank = k == 0 || k + 1 == wire_path.wires.size();
    if (is_rank || wire.is_processors || wire.bandwidth < never_felt * slowest)
      wire_path.felt.push_back(wire_path.wires[k]);
  }
  wire_path.latency = wires.latency(from, to);
  wire_path.overhead = (is_inside ? busy_inside : busy_between) * wire_path.latency;
  wire_path.is_tcp = !is_inside && wire_path.latency > least_tcp_latency;
  return wire_path;
}

/// The paths between the ranks of a job. They differ by hosts only, but for their first and last wires, which are those
/// of the ranks.
class WirePaths {
 public:
  explicit WirePaths(const machine::Wires& wires) : wires_(wires) {
    for (const auto& wire : wires.wires()) n_sharing_.push_back(wire.n_other_ranks);
    for (int rank = 0; rank < wires.n_ranks(); ++rank) {
      rank_wire_.push_back(wires.path(rank, rank).front());
      if (const int shared = wires.processors_of(wires.host_of(rank)); shared >= 0)
        ++n_sharing_[static_cast<std::size_t>(shared)];
    }
  }

  /// Returns the path of a message. The reference is valid as long as this object.
  const WirePath& operator()(const PlannedMessage& message) {
    const auto n_hosts = static_cast<std::int64_t>(wires_.network().hosts.size());
    const auto [found, is_new] =
        known_.try_emplace(wires_.host_of(message.from) * n_hosts + wires_.host_of(message.to));
    if (is_new) found->second = wire_path_of(wires_, n_sharing_, message.from, message.to);
    return found->second;
  }

  /// Returns wire `k` of a path for this message.
  std::size_t wire(const std::vector<int>& wires, std::size_t k, const PlannedMessage& message) const {
    const auto rank = [&](int r) { return static_cast<std::size_t>(rank_wire_[static_cast<std::size_t>(r)]); };
    return k == 0 ? rank(message.from) : k + 1 == wires.size() ? rank(message.to) : static_cast<std::size_t>(wires[k]);
  }

  /// Returns how long (s) a message occupies a wire.
  double seconds_on(std::size_t w, bool is_rank, const WirePath& wire_path, double bytes) const {
    const auto& wire = wires_.wires()[w];
    const double felt = wire_path.is_tcp && bytes > most_unasked && !wire.is_processors ? asked_first * bytes : bytes;
    return felt / wire.bandwidth + wire.per_message + (is_rank ? wire_path.overhead : 0);
  }

 private:
  const machine::Wires& wires_;
  std::vector<int> rank_wire_;
  std::vector<int> n_sharing_;                        // of each wire that stands for processors: ranks on its hosts
  std::unordered_map<std::int64_t, WirePath> known_;  // by hosts
};

/// Adds the waits of a limited horizon: a send beyond it waits for earlier actions of its rank.
class Horizon {
 public:
  /// Adds one wait to each message that must not start at once.
  Horizon(const MessagePlan& plan, int n_ranks, std::vector<int>& n_waits)
      : horizon_(plan.horizon), plan_(plan), ranks_(plan.horizon > 0 ? static_cast<std::size_t>(n_ranks) : 0) {
    if (horizon_ == 0) return;
    is_done_.assign(plan.messages.size(), 0);
    done_.assign(plan.messages.size(), 0);
    for (std::size_t i = 0; i < plan.messages.size(); ++i) {
      const auto& message = plan.messages[i];
      if (ranks_[static_cast<std::size_t>(message.from)].actions.size() >= static_cast<std::size_t>(horizon_))
        ++n_waits[i];
      ranks_[static_cast<std::size_t>(message.from)].actions.push_back(static_cast<int>(i));
      if (message.to != message.from)
        ranks_[static_cast<std::size_t>(message.to)].actions.push_back(static_cast<int>(i));
    }
  }

  /// Notes that a message is done, and calls `release(message, time)` for each message that waited for this one alone.
  template <class Release>
  void finish(int message, double time, Release&& release) {
    if (horizon_ == 0) return;
    const auto i = static_cast<std::size_t>(message);
    is_done_[i] = 1;
    done_[i] = time;
    const auto& ends = plan_.messages[i];
    advance(ends.from, release);
    if (ends.to != ends.from) advance(ends.to, release);
  }

 private:
  struct Rank {
    std::vector<int> actions;
    std::size_t frontier = 0;  // first that is not done
    double time = 0;           // when all before it were
  };

  template <class Release>
  void advance(int rank, Release&& release) {
    auto& own = ranks_[static_cast<std::size_t>(rank)];
    while (own.frontier < own.actions.size()) {
      const auto first = static_cast<std::size_t>(own.actions[own.frontier]);
      if (!is_done_[first]) return;
      own.time = std::max(own.time, done_[first]);
      const auto freed = own.frontier++ + static_cast<std::size_t>(horizon_);
      if (freed < own.actions.size() && plan_.messages[static_cast<std::size_t>(own.actions[freed])].from == rank)
        release(own.actions[freed], own.time);
    }
  }

  int horizon_;
  const MessagePlan& plan_;
  std::vector<Rank> ranks_;
  std::vector<char> is_done_;
  std::vector<double> done_;
};

double bytes_of(const PlannedMessage& message, const CollectiveProblem& problem) {
  return static_cast<double>(message.length * problem.element_bytes);
}

}  // namespace

double least_seconds(const MessagePlan& plan, const CollectiveProblem& problem, const machine::Wires& wires) {
  WirePaths wire_paths(wires);
  std::vector<double> busy(wires.wires().size(), 0);
  for (const auto& message : plan.messages) {
    if (message.from == message.to) continue;
    const auto& wire_path = wire_paths(message);
    const double bytes = bytes_of(message, problem);
    for (std::size_t k = 0; k < wire_path.wires.size(); ++k) {
      const auto w = wire_paths.wire(wire_path.wires, k, message);
      busy[w] += wire_paths.seconds_on(w, k == 0 || k + 1 == wire_path.wires.size(), wire_path, bytes);
    }
  }
  return *std::max_element(busy.begin(), busy.end());
}

PlanPrediction predict(const MessagePlan& plan, const CollectiveProblem& problem, const machine::Wires& wires,
                       double limit) {
  auto graph = graph_of(plan, problem.n_ranks);
  Horizon horizon(plan, problem.n_ranks, graph.n_waits);
  const auto n_wires = wires.wires().size();
  PlanPrediction prediction{0, std::vector<double>(n_wires, 0), {}};
  std::vector<double> free(n_wires, 0);
  std::vector<double> busy_since(n_wires, 0);  // of processors
  std::vector<int> last_host(n_wires, -1);     // whose message a host's port took last
  std::vector<char> waits_for_turn(plan.messages.size(), 0);
  std::vector<double> ready(plan.messages.size(), 0), arrival(plan.messages.size(), 0);
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue;
  WirePaths wire_paths(wires);
  std::vector<const WirePath*> way_of_message(plan.messages.size(), nullptr);
  for (std::size_t i = 0; i < plan.messages.size(); ++i)
    if (graph.n_waits[i] == 0) queue.emplace(0.0, static_cast<int>(i), 0);
  while (!queue.empty()) {
    const auto [time, index, n_behind] = queue.top();
    queue.pop();
    if (time > limit) {
      prediction.seconds = time;
      return prediction;
    }
    const auto i = static_cast<std::size_t>(index);
    const auto& message = plan.messages[i];
    arrival[i] = std::max(arrival[i], time);
    if (message.from != message.to) {
      const double bytes = bytes_of(message, problem);
      auto& known = way_of_message[i];
      if (!known) known = &wire_paths(message);
      const auto& wire_path = *known;
      if (n_behind == 0)
        for (std::size_t k = 0; k < wire_path.wires.size(); ++k) {
          const auto w = wire_paths.wire(wire_path.wires, k, message);
          prediction.wire_busy[w] +=
              wire_paths.seconds_on(w, k == 0 || k + 1 == wire_path.wires.size(), wire_path, bytes);
        }
      // The head of a message continues at once; its tail leaves when the wire has carried all of it.
      const auto place = static_cast<std::size_t>(n_behind);
      const auto w = wire_paths.wire(wire_path.felt, place, message);
      const bool is_last = place + 1 == wire_path.felt.size();
      const double start = std::max(time, free[w]);
      double seconds = wire_paths.seconds_on(w, n_behind == 0 || is_last, wire_path, bytes);
      if (place + 2 == wire_path.felt.size() && wire_path.is_tcp) {  // the port of the receiver's host
        const int host = wires.host_of(message.from);
        if (time < free[w] && last_host[w] != host) seconds *= crowded;
        last_host[w] = host;
      }
      if (wires.wires()[w].is_processors) {
        if (time >= free[w]) busy_since[w] = time;
        if (time - busy_since[w] > wire_path.round / 2) waits_for_turn[i] = 1;
      }
      free[w] = start + seconds;
      if (!is_last) {
        arrival[i] = std::max(arrival[i], free[w]);
        queue.emplace(start, index, n_behind + 1);
        continue;
      }
      // Latency is counted once, whatever part of it is work of a core.
      arrival[i] = std::max(arrival[i], free[w] - wire_path.overhead) + wire_path.latency;
      if (waits_for_turn[i]) arrival[i] += wire_path.round;
    }
    prediction.seconds = std::max(prediction.seconds, arrival[i]);
    const auto release = [&](int follower, double at) {
      const auto after = static_cast<std::size_t>(follower);
      ready[after] = std::max(ready[after], at);
      if (--graph.n_waits[after] == 0) queue.emplace(ready[after], follower, 0);
    };
    for (int f = graph.first[i]; f < graph.first[i + 1]; ++f)
      release(graph.followers[static_cast<std::size_t>(f)], arrival[i]);
    horizon.finish(index, arrival[i], release);
  }
  prediction.done = std::move(arrival);
  return prediction;
}

}  // namespace tessera::collectives
