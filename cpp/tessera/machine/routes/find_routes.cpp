#include "tessera/machine/routes/find_routes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace tessera::machine {
namespace {

constexpr int n_random = 8;
// This limits the mean difference of logarithms, both for accepting routes and for needing an explanation.
constexpr double tolerance = 0.1;

std::vector<Routes> hypotheses(const Network& network) {
  const int n = static_cast<int>(network.hosts.size());
  const double rate = network.subnets[0].link.bandwidth;
  std::vector<Routes> all;
  for (int a = 1; a <= n; ++a)
    for (int b = 1; n % a == 0 && b <= n / a; ++b)
      if (n / a % b == 0 && (b > 1 || a == 1) && n / a / b > 1)
        all.push_back({Routes::Kind::torus, {a, b, n / a / b}, rate});
  // The hosts of a tree are numbered leaf by leaf, and all leaves but the last are full.
  std::size_t down = 0, leaves = 0;
  bool are_alike = network.subnets.size() > 1;
  std::optional<double> uplink;
  for (const auto& subnet : network.subnets) {
    if (!subnet.is_leaf()) continue;
    const auto first = static_cast<std::size_t>(subnet.hosts.front());
    if (leaves++ == 0) down = subnet.hosts.size(), uplink = subnet.uplink;
    const auto expected = std::min(down, network.hosts.size() - std::min(first, network.hosts.size()));
    are_alike = are_alike && first % down == 0 && subnet.hosts.size() == expected &&
                std::is_sorted(subnet.hosts.begin(), subnet.hosts.end()) &&
                subnet.hosts.back() - subnet.hosts.front() + 1 == static_cast<int>(subnet.hosts.size());
  }
  if (are_alike && down > 1) {
    const auto up = uplink ? std::max(1L, std::lround(*uplink / rate)) : static_cast<long>(down);
    all.push_back({Routes::Kind::tree, {static_cast<int>(down), static_cast<int>(up)}, rate});
  }
  return all;
}

/// Returns how many flows share the busiest link, at least 1.
double slowdown(const Routes& routes, int n_hosts, const std::vector<Flow>& flows) {
  std::vector<int> load(static_cast<std::size_t>(routes.n_links(n_hosts))), links;
  int most = 1;
  for (const auto& flow : flows) {
    links.clear();
    routes.add_links(n_hosts, flow.from, flow.to, links);
    for (const int link : links) most = std::max(most, ++load[static_cast<std::size_t>(link)]);
  }
  return most;
}

}  // namespace

std::vector<std::vector<Flow>> route_patterns(int n_hosts) {
  std::vector<std::vector<Flow>> patterns;
  for (int shift = 1; shift < n_hosts; shift *= 2) {
    auto& flows = patterns.emplace_back();
    for (int host = 0; host < n_hosts; ++host) flows.push_back({host, (host + shift) % n_hosts});
  }
  std::mt19937 random(static_cast<std::mt19937::result_type>(n_hosts));
  std::vector<int> partner(static_cast<std::size_t>(n_hosts));
  for (int turn = 0; turn < n_random; ++turn) {
    std::iota(partner.begin(), partner.end(), 0);
    // Sattolo's algorithm makes one cycle, so that no host sends to itself.
    for (std::size_t i = partner.size() - 1; i > 0; --i) std::swap(partner[i], partner[random() % i]);
    auto& flows = patterns.emplace_back();
    for (int host = 0; host < n_hosts; ++host) flows.push_back({host, partner[static_cast<std::size_t>(host)]});
  }
  return patterns;
}

std::optional<Routes> find_routes(const Network& network, const std::vector<Experiment>& experiments) {
  const int n = static_cast<int>(network.hosts.size());
  if (n < least_hosts_with_routes) return std::nullopt;
  const auto patterns = route_patterns(n);
  std::vector<double> measured;
  double unexplained = 0;
  for (const auto& flows : patterns) {
    const auto done = std::find_if(experiments.begin(), experiments.end(),
                                   [&](const Experiment& e) { return e.is_done() && e.flows == flows; });
    if (done == experiments.end()) return std::nullopt;
    measured.push_back(*std::max_element(done->together.begin(), done->together.end()) /
                       *std::max_element(done->alone.begin(), done->alone.end()));
    unexplained += std::abs(std::log(measured.back()));
  }
  const double most = tolerance * static_cast<double>(patterns.size());
  if (unexplained <= most) return std::nullopt;
  std::optional<Routes> found;
  double least = most;
  for (auto& routes : hypotheses(network)) {
    double difference = 0;
    for (std::size_t i = 0; i < patterns.size() && difference < least; ++i)
      difference += std::abs(std::log(slowdown(routes, n, patterns[i]) / measured[i]));
    if (difference >= least) continue;
    least = difference;
    found = std::move(routes);
  }
  return found;
}

}  // namespace tessera::machine
