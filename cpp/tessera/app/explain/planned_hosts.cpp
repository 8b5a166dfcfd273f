#include "tessera/app/explain/planned_hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/machine/machine.h"
#include "tessera/machine/orders.h"

namespace tessera::app {

std::optional<Map> read_map(const std::string& path) {
  if (path.empty()) return std::nullopt;
  Map map{path, machine::read_machine_file(path)};
  (void)map.network();
  return map;
}

std::vector<PlannedHost> hosts_of_map(const Map& map, int n_ranks, int cores_per_node) {
  const auto& hosts = map.network().hosts;
  std::vector<PlannedHost> planned;
  for (const int ranks : machine::fill_slots(map.network(), n_ranks)) {
    const auto cores = map.file.machine.usable_threads.value_or(hosts[planned.size()].slots);
    planned.push_back({ranks, cores_per_node > 0 ? cores_per_node : cores});
  }
  return planned;
}

Crowding find_crowding(const std::optional<Map>& map, int n_ranks, int threads, int cores_per_node) {
  const auto this_host = machine::describe_this_host().usable_threads.value_or(1);
  if (!map && cores_per_node == 0) {
    const auto most = std::max(1.0, static_cast<double>(n_ranks) * threads / this_host);
    return {most, 1,
            fmt::format("{} ranks × {} threads share this host's {} cores; --cores-per-node plans for others", n_ranks,
                        threads, this_host)};
  }
  if (!map) {  // as many hosts as it takes
    const int cores = cores_per_node, ranks_per_host = std::max(1, cores / threads);
    const int hosts = (n_ranks + ranks_per_host - 1) / ranks_per_host;
    return {std::max(1.0, static_cast<double>(threads) / cores), hosts,
            fmt::format("{} hosts of {} cores, at most {} ranks × {} threads on each", hosts, cores,
                        std::min(n_ranks, ranks_per_host), threads)};
  }
  const auto hosts = hosts_of_map(*map, n_ranks, cores_per_node);
  Crowding found;
  for (const auto& [ranks, cores] : hosts) {
    found.most = std::max(found.most, static_cast<double>(ranks) * threads / cores);
    if (ranks ==
        std::max_element(hosts.begin(), hosts.end(), [](auto& a, auto& b) { return a.ranks < b.ranks; })->ranks)
      found.text = fmt::format("{} hosts of {}, at most {} ranks × {} threads on one of {} cores",
                               std::count_if(hosts.begin(), hosts.end(), [](const auto& one) { return one.ranks > 0; }),
                               map->path, ranks, threads, cores);
  }
  return found;
}

}  // namespace tessera::app
