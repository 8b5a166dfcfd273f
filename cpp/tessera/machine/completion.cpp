#include "tessera/machine/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/error.h"

namespace tessera::machine {

BroadcastTree minimal_spanning_tree(const TimeMatrix& times, int root) {
  const auto n = static_cast<std::size_t>(times.n_hosts());
  BroadcastTree tree{root, std::vector<std::vector<int>>(n)};
  std::vector<double> cost(n, std::numeric_limits<double>::infinity());
  std::vector<int> nearest(n, -1);
  std::vector<bool> is_in(n, false);
  int added = root;
  for (std::size_t n_in = 1; n_in <= n; ++n_in) {  // Prim's algorithm
    is_in[static_cast<std::size_t>(added)] = true;
    if (nearest[static_cast<std::size_t>(added)] >= 0)
      tree.children[static_cast<std::size_t>(nearest[static_cast<std::size_t>(added)])].push_back(added);
    if (n_in == n) break;
    int next = -1;
    for (std::size_t h = 0; h < n; ++h) {
      if (is_in[h]) continue;
      if (const double time = times.between(added, static_cast<int>(h)); time < cost[h]) {
        cost[h] = time;
        nearest[h] = added;
      }
      if (nearest[h] >= 0 && (next < 0 || cost[h] < cost[static_cast<std::size_t>(next)])) next = static_cast<int>(h);
    }
    if (next < 0)
      throw InputError(fmt::format("the known times connect only {} of {} hosts; measure more pairs", n_in, n));
    added = next;
  }
  for (auto& children : tree.children) std::sort(children.begin(), children.end());
  return tree;
}

BroadcastTree binary_tree(int n_hosts, int root) {
  BroadcastTree tree{root, std::vector<std::vector<int>>(static_cast<std::size_t>(n_hosts))};
  const auto host = [&](int number) { return (root + number - 1) % n_hosts; };
  for (int number = 2; number <= n_hosts; ++number)
    tree.children[static_cast<std::size_t>(host(number / 2))].push_back(host(number));
  return tree;
}

double completion_time(const BroadcastTree& tree, const TimeMatrix& times) {
  double last = 0;
  std::vector<std::pair<int, double>> informed = {{tree.root, 0.0}};  // host, time when it has the message
  for (std::size_t i = 0; i < informed.size(); ++i) {
    auto [host, time] = informed[i];
    last = std::max(last, time);
    for (const int child : tree.children[static_cast<std::size_t>(host)]) {
      time += times.between(host, child);
      informed.emplace_back(child, time);
    }
  }
  return last;
}

}  // namespace tessera::machine
