#include "tessera/machine/load/shared_processors.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tessera::machine {

std::string operating_system() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

void add_shared_processors(Network& network, std::span<const int> host_of_rank,
                           std::span<const std::string> system_of_rank) {
  std::set<int> known;
  for (const auto& processors : network.processors) known.insert(processors.hosts.begin(), processors.hosts.end());
  std::map<std::string, std::set<int>> found;
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank)
    if (!system_of_rank[rank].empty() && !known.contains(host_of_rank[rank]))
      found[system_of_rank[rank]].insert(host_of_rank[rank]);
  for (const auto& [system, hosts] : found)
    if (hosts.size() > 1) network.processors.push_back({{hosts.begin(), hosts.end()}, unmeasured_work});
}

}  // namespace tessera::machine
