#include "tessera/comm/collectives/predict.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "tessera/comm/collectives/hazards.h"

namespace tessera::comm::collectives {
namespace {

/// For each message, which messages wait for it; and how many each waits for.
struct Graph {
  std::vector<int> first;  // into `followers`, one more than messages
  std::vector<int> followers;
  std::vector<int> n_waits;
};

Graph graph_of(const Plan& plan, int n_ranks) {
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

}  // namespace

Prediction predict(const Plan& plan, const Problem& problem, const machine::Wires& wires) {
  auto graph = graph_of(plan, problem.n_ranks);
  Prediction prediction{0, std::vector<double>(wires.wires().size(), 0)};
  std::vector<double> free(wires.wires().size(), 0);
  std::vector<double> ready(plan.messages.size(), 0);
  using Event = std::pair<double, int>;  // when ready, message; ties in plan order
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue;
  for (std::size_t i = 0; i < plan.messages.size(); ++i)
    if (graph.n_waits[i] == 0) queue.emplace(0.0, static_cast<int>(i));
  while (!queue.empty()) {
    const auto [time, index] = queue.top();
    queue.pop();
    const auto& message = plan.messages[static_cast<std::size_t>(index)];
    double arrival = time;
    if (message.from != message.to) {
      const double bytes = static_cast<double>(message.length * problem.element_bytes);
      double start = time;
      for (const int wire : wires.path(message.from, message.to)) {
        const auto w = static_cast<std::size_t>(wire);
        const double busy = bytes / wires.wires()[w].bandwidth;
        // The head of a message passes on at once; its tail leaves when this wire has carried all of it.
        start = std::max(start, free[w]);
        free[w] = start + busy;
        arrival = std::max(arrival, free[w]);
        prediction.wire_busy[w] += busy;
      }
      arrival += wires.latency(message.from, message.to);
    }
    prediction.seconds = std::max(prediction.seconds, arrival);
    for (int f = graph.first[static_cast<std::size_t>(index)]; f < graph.first[static_cast<std::size_t>(index) + 1];
         ++f) {
      const auto after = static_cast<std::size_t>(graph.followers[static_cast<std::size_t>(f)]);
      ready[after] = std::max(ready[after], arrival);
      if (--graph.n_waits[after] == 0) queue.emplace(ready[after], static_cast<int>(after));
    }
  }
  return prediction;
}

}  // namespace tessera::comm::collectives
