#include "tessera/app/output/network_status.h"

#include "tessera/base/error.h"
#include "tessera/comm/wires_of_ranks.h"
#include "tessera/machine/network_json.h"

namespace tessera::app {

nlohmann::json network_status(const std::string& machine_file, const comm::Communicator& comm) {
  if (comm.size() == 1) return nullptr;
  comm::RankWires known;
  try {
    known = comm::wires_of_ranks(comm, machine_file);
  } catch (const InputError&) {
    return nullptr;  // of a map that is no use: all ranks agree on it, and a note has said why
  }
  if (!known.wires) return nullptr;
  const auto& network = known.wires->network();
  nlohmann::json hosts = nlohmann::json::array(), subnets = nlohmann::json::array();
  for (std::size_t h = 0; h < network.hosts.size(); ++h) {
    const auto ranks = known.wires->ranks_on(static_cast<int>(h));
    if (ranks.empty()) continue;
    hosts.push_back({{"name", network.hosts[h].name},
                     {"ranks", ranks.size()},
                     {"first_rank", ranks.front()},
                     {"subnet", network.leaf_of(static_cast<int>(h))}});
  }
  for (const auto& subnet : network.subnets)
    subnets.push_back({{"parent", subnet.parent},
                       {"medium", machine::name_of(subnet.medium)},
                       {"latency_seconds", subnet.link.latency},
                       {"bytes_per_second", subnet.link.bandwidth}});
  return {{"source", known.source},
          {"is_measured", known.is_measured},
          {"hosts", std::move(hosts)},
          {"subnets", std::move(subnets)}};
}

}  // namespace tessera::app
