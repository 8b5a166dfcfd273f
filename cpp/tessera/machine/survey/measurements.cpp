#include "tessera/machine/survey/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/machine/json_reader.h"
#include "tessera/machine/wires.h"

namespace tessera::machine {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

bool may_be_time(double seconds) { return std::isnan(seconds) || is_time(seconds); }

std::string found(double seconds) { return fmt::format("{} s, expected a time from 1e-15 to 1e15, or null", seconds); }

std::map<std::string, int> index_by_name(const std::vector<MeasuredHost>& hosts) {
  std::map<std::string, int> index;
  for (std::size_t h = 0; h < hosts.size(); ++h) index.emplace(hosts[h].name, static_cast<int>(h));
  return index;
}

/// Copies the times of `from`, whose host h is `to_host[h]` here, if they are less.
void take_over(Measurements& into, const Measurements& from, const std::vector<int>& to_host) {
  for (std::size_t k = 0; k < from.sizes.size(); ++k) {
    const auto size = std::find(into.sizes.begin(), into.sizes.end(), from.sizes[k]) - into.sizes.begin();
    auto& times = into.times[static_cast<std::size_t>(size)];
    auto& inside = into.inside[static_cast<std::size_t>(size)];
    for (std::size_t a = 0; a < to_host.size(); ++a) {
      auto& time_inside = inside[static_cast<std::size_t>(to_host[a])];
      time_inside = std::fmin(time_inside, from.inside[k][a]);
      for (std::size_t b = 0; b < to_host.size(); ++b) {
        auto& time = times.at(to_host[a], to_host[b]);
        time = std::fmin(time, from.times[k].at(static_cast<int>(a), static_cast<int>(b)));
      }
    }
  }
  for (auto experiment : from.experiments) {
    for (auto& flow : experiment.flows)
      flow = {to_host[static_cast<std::size_t>(flow.from)], to_host[static_cast<std::size_t>(flow.to)]};
    const auto same = std::find_if(into.experiments.begin(), into.experiments.end(), [&](const Experiment& other) {
      return other.flows == experiment.flows && other.bytes == experiment.bytes && other.piece == experiment.piece;
    });
    if (same == into.experiments.end()) {
      into.experiments.push_back(experiment);
    } else if (experiment.is_done()) {
      if (!same->is_done()) *same = experiment;
      for (std::size_t i = 0; i < experiment.flows.size(); ++i) {
        same->alone[i] = std::min(same->alone[i], experiment.alone[i]);
        same->together[i] = std::min(same->together[i], experiment.together[i]);
      }
    }
  }
}

}  // namespace

std::int64_t bytes_of_flow(const Link& link, double seconds) {
  constexpr double least = 64 << 10, most = 64 << 20;
  return static_cast<std::int64_t>(std::clamp(link.bandwidth * seconds, least, most));
}

Measurements Measurements::of(std::vector<MeasuredHost> hosts, std::vector<std::int64_t> sizes) {
  Measurements empty;
  empty.times.assign(sizes.size(), TimeMatrix(static_cast<int>(hosts.size())));
  empty.inside.assign(sizes.size(), std::vector<double>(hosts.size(), unknown));
  empty.hosts = std::move(hosts);
  empty.sizes = std::move(sizes);
  return empty;
}

void Measurements::check(const std::string& name) const {
  const int n = static_cast<int>(hosts.size());
  if (hosts.empty()) throw InputError(fmt::format("{}: no hosts were measured, expected one or more", name));
  if (const auto index = index_by_name(hosts); index.size() != hosts.size())
    throw InputError(fmt::format("{}: a host is listed twice among the {} measured", name, n));
  for (std::size_t k = 0; k < sizes.size(); ++k)
    if (sizes[k] < 0 || (k > 0 && sizes[k] <= sizes[k - 1]))
      throw InputError(fmt::format("{}: message size {} is {}, expected ascending sizes ≥ 0", name, k, sizes[k]));
  if (times.size() != sizes.size() || inside.size() != sizes.size())
    throw InputError(fmt::format("{}: matrices of {} and rows of {} sizes, expected {}", name, times.size(),
                                 inside.size(), sizes.size()));
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (times[k].n_hosts() != n || static_cast<int>(inside[k].size()) != n)
      throw InputError(
          fmt::format("{}: the matrix of {} bytes is {} × {} and {} hosts were measured inside, expected {}", name,
                      sizes[k], times[k].n_hosts(), times[k].n_hosts(), inside[k].size(), n));
    for (int a = 0; a < n; ++a) {
      const auto& host = hosts[static_cast<std::size_t>(a)].name;
      if (const double time = inside[k][static_cast<std::size_t>(a)]; !may_be_time(time))
        throw InputError(fmt::format("{}: {} bytes inside {} took {}", name, sizes[k], host, found(time)));
      for (int b = 0; b < n; ++b)
        if (a != b && !may_be_time(times[k].at(a, b)))
          throw InputError(fmt::format("{}: {} bytes from {} to {} took {}", name, sizes[k], host,
                                       hosts[static_cast<std::size_t>(b)].name, found(times[k].at(a, b))));
    }
  }
  for (std::size_t e = 0; e < experiments.size(); ++e) {
    const auto& experiment = experiments[e];
    const auto where = fmt::format("{}: experiment {}", name, e);
    if (experiment.bytes <= 0)
      throw InputError(fmt::format("{} sends {} bytes, expected > 0", where, experiment.bytes));
    if (experiment.piece < 0)
      throw InputError(fmt::format("{} sends pieces of {} bytes, expected ≥ 0", where, experiment.piece));
    for (const auto& flow : experiment.flows)
      if (flow.from < 0 || flow.from >= n || flow.to < 0 || flow.to >= n || flow.from == flow.to)
        throw InputError(
            fmt::format("{} has a flow from host {} to {}, expected two of 0 to {}", where, flow.from, flow.to, n - 1));
    for (const auto* seconds : {&experiment.alone, &experiment.together}) {
      if (!seconds->empty() && seconds->size() != experiment.flows.size())
        throw InputError(fmt::format("{} has {} times for {} flows", where, seconds->size(), experiment.flows.size()));
      for (const double time : *seconds)
        if (!is_time(time))
          throw InputError(fmt::format("{} took {} s, expected a time from 1e-15 to 1e15", where, time));
    }
  }
}

Measurements merge(const Measurements& first, const Measurements& second) {
  const auto index = index_by_name(first.hosts);
  std::vector<int> to_first;
  for (const auto& host : second.hosts) {
    const auto at = index.find(host.name);
    if (at == index.end() || first.hosts.size() != second.hosts.size())
      throw InputError(fmt::format(
          "measurements of {} and of {} hosts, of which {} is {}; only surveys of the same hosts can be merged",
          first.hosts.size(), second.hosts.size(), host.name, at == index.end() ? "in the second alone" : "in both"));
    to_first.push_back(at->second);
  }
  auto sizes = first.sizes;
  sizes.insert(sizes.end(), second.sizes.begin(), second.sizes.end());
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  auto merged = Measurements::of(first.hosts, sizes);
  std::vector<int> itself(first.hosts.size());
  std::iota(itself.begin(), itself.end(), 0);
  take_over(merged, first, itself);
  take_over(merged, second, to_first);
  return merged;
}

std::vector<std::string> what_is_stale(const Measurements& measurements, const Network& network,
                                       const std::vector<HostNow>& hosts, const std::vector<SpotCheck>& checks) {
  std::vector<std::string> differences;
  const auto index = index_by_name(measurements.hosts);
  for (const auto& host : hosts) {
    const auto known = index.find(host.name);
    if (known == index.end()) {
      differences.push_back(fmt::format("host {} is not in the map", host.name));
      continue;
    }
    const int slots = measurements.hosts[static_cast<std::size_t>(known->second)].slots;
    if (host.n_ranks > slots)
      differences.push_back(
          fmt::format("host {} has {} ranks, the map knows {} slots", host.name, host.n_ranks, slots));
  }
  std::optional<Wires> wires;  // made for the first unmeasured pair
  for (const auto& check : checks) {
    const auto size = std::find(measurements.sizes.begin(), measurements.sizes.end(), check.bytes);
    double then = unknown;
    if (size != measurements.sizes.end())
      then =
          measurements.times[static_cast<std::size_t>(size - measurements.sizes.begin())].between(check.from, check.to);
    if (std::isnan(then)) {
      if (!wires) {
        std::vector<int> one_rank_a_host(network.hosts.size());
        std::iota(one_rank_a_host.begin(), one_rank_a_host.end(), 0);
        wires.emplace(network, one_rank_a_host);
      }
      then = wires->time(check.from, check.to, static_cast<double>(check.bytes));
    }
    if (check.seconds <= then * stale_factor && check.seconds * stale_factor >= then) continue;
    const auto name = [&](int host) { return measurements.hosts[static_cast<std::size_t>(host)].name; };
    differences.push_back(fmt::format("{} bytes from {} to {} take {:.3g} ms, in the map {:.3g} ms", check.bytes,
                                      name(check.from), name(check.to), check.seconds * 1e3, then * 1e3));
  }
  return differences;
}

}  // namespace tessera::machine
