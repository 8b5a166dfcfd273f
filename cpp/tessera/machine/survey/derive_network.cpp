#include "tessera/machine/survey/derive_network.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/machine/routes/find_routes.h"
#include "tessera/machine/survey/contention_results.h"
#include "tessera/machine/survey/split_by_load.h"

namespace tessera::machine {
namespace {

double median(std::vector<double>& values) {
  if (values.empty()) return std::nan("");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns the 20 % of Lowekamp and Beguelin (1995), or, if that is more, twice the 95th percentile of the differences
/// between the two directions of a pair. A pair is compared with the least of many, so a size with scattered times must
/// not split a subnet by chance.
double tolerance_of(const TimeMatrix& times) {
  std::vector<double> differences;
  for (int a = 0; a < times.n_hosts(); ++a)
    for (int b = a + 1; b < times.n_hosts(); ++b)
      if (!std::isnan(times.at(a, b)) && !std::isnan(times.at(b, a)) && times.at(a, b) != times.at(b, a))
        differences.push_back(std::abs(std::log(times.at(a, b) / times.at(b, a))));
  if (differences.empty()) return 1.20;
  const auto most = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() * 19 / 20);
  std::nth_element(differences.begin(), most, differences.end());
  return std::max(1.20, std::exp(2 * *most));
}

/// Makes subnets of leaves whose hosts slow each other down in a way that no single switch or bus explains.
void split_leaves(std::vector<Subnet>& subnets, const std::vector<Experiment>& experiments) {
  const auto n = subnets.size();
  for (std::size_t s = 0; s < n; ++s) {
    if (!subnets[s].is_leaf()) continue;
    if (!load_experiments(subnets[s].hosts, subnets[s].link, experiments, 1).empty()) continue;  // results are missing
    const auto parts = split_by_load(subnets[s].hosts, experiments);
    if (parts.size() < 2) continue;
    subnets[s].hosts.clear();
    for (const auto& [hosts, medium] : parts) {
      subnets[s].subnets.push_back(static_cast<int>(subnets.size()));
      Subnet part{static_cast<int>(s), {}, hosts, {}, Medium::unknown, std::nullopt};
      if (hosts.size() > 1) {
        part.link = subnets[s].link;
        part.medium = medium;
        if (medium == Medium::fabric) part.uplink = part.link.bandwidth;
      }
      subnets.push_back(std::move(part));
    }
  }
}

/// Returns the deepest subnet that holds both leaves; parents precede their parts.
int common_subnet(const std::vector<Subnet>& subnets, int a, int b) {
  while (a != b) {
    if (a < b) std::swap(a, b);
    a = subnets[at(a)].parent;
  }
  return a;
}

}  // namespace

std::optional<Link> fit_link(std::span<const std::int64_t> sizes, std::span<const double> seconds) {
  // The line goes through the shortest and the longest message. Sizes in between must not bend it, because a traffic
  // shaper lets a burst pass at a higher rate, and MPI libraries change their protocol.
  std::size_t shortest = 0, longest = 0, n = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (std::isnan(seconds[k])) continue;
    if (n++ == 0) shortest = k;
    longest = k;
  }
  if (n == 0 || sizes[longest] == 0) return std::nullopt;
  const auto bytes = [&](std::size_t k) { return static_cast<double>(sizes[k]); };
  if (n == 1) return Link{0, bytes(longest) / seconds[longest]};
  const double slowness = (seconds[longest] - seconds[shortest]) / (bytes(longest) - bytes(shortest));
  if (slowness <= 0)  // long messages are as fast as short ones; the link is at least this good
    return Link{seconds[shortest], bytes(longest) / seconds[longest]};
  return Link{std::max(0.0, seconds[shortest] - bytes(shortest) * slowness), 1 / slowness};
}

Network network_of_times(const Measurements& measurements) {
  measurements.check("measurements");
  const int n = static_cast<int>(measurements.hosts.size());
  const auto n_sizes = measurements.sizes.size();
  Network network;
  for (std::size_t h = 0; h < measurements.hosts.size(); ++h) {
    std::vector<double> inside;
    for (std::size_t k = 0; k < n_sizes; ++k) inside.push_back(measurements.inside[k][h]);
    network.hosts.push_back(
        {measurements.hosts[h].name, measurements.hosts[h].slots, fit_link(measurements.sizes, inside)});
  }
  std::vector<double> tolerances;
  for (const auto& times : measurements.times) tolerances.push_back(tolerance_of(times));
  if (n_sizes == 0)
    network.subnets = hierarchy(TimeMatrix(n));
  else
    network.subnets = hierarchy(measurements.times, tolerances);

  std::vector<int> leaf(at(n));
  for (std::size_t s = 0; s < network.subnets.size(); ++s)
    for (const int host : network.subnets[s].hosts) leaf[at(host)] = static_cast<int>(s);
  std::vector<std::vector<std::vector<double>>> samples(network.subnets.size(),
                                                        std::vector<std::vector<double>>(n_sizes));
  for (std::size_t k = 0; k < n_sizes; ++k)
    for (int a = 0; a < n; ++a)
      for (int b = a + 1; b < n; ++b)
        if (const double time = measurements.times[k].between(a, b); !std::isnan(time))
          samples[at(common_subnet(network.subnets, leaf[at(a)], leaf[at(b)]))][k].push_back(time);
  for (std::size_t s = 0; s < network.subnets.size(); ++s) {
    auto& subnet = network.subnets[s];
    if (subnet.hosts.size() + subnet.subnets.size() < 2) continue;
    std::vector<double> medians;
    for (auto& times : samples[s]) medians.push_back(median(times));
    const auto link = fit_link(measurements.sizes, medians);
    if (!link)
      throw InputError(
          "measurements: no times of messages with bytes between some of the hosts; measure every host against another "
          "with two sizes or more");
    subnet.link = *link;
  }
  return network;
}

Network derive_network(const Measurements& measurements) {
  auto network = network_of_times(measurements);
  split_leaves(network.subnets, measurements.experiments);
  add_contention(network, measurements.experiments);
  add_processors(network, measurements);
  network.routes = find_routes(network, measurements.experiments);
  return network;
}

}  // namespace tessera::machine
