#include "tessera/comm/wires_of_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/machine/load/shared_processors.h"
#include "tessera/machine/orders.h"
#include "tessera/machine/survey/machine_file.h"

namespace tessera::comm {

RankWires wires_of_ranks(const Communicator& comm, const std::string& machine_file) {
  std::vector<std::string> names, systems;
  for (const auto& bytes : comm.gather(bytes_of(Communicator::host() + '\n' + machine::operating_system()), 0)) {
    const auto line = values_of<char>(bytes);
    const auto end = std::find(line.begin(), line.end(), '\n');
    names.emplace_back(line.begin(), end);
    systems.emplace_back(std::next(end), line.end());
  }
  RankWires found;
  std::string fault;
  if (comm.is_root()) {
    try {
      auto network = machine::network_of(names);
      const auto n = network.hosts.size();
      found.source = n == 1 ? "one host" : fmt::format("{} hosts of a network that was not measured", n);
      if (!machine_file.empty()) {
        auto map = machine::read_network(machine_file);
        if (comm.size() > 1) {
          network = std::move(map);
          found.source = "the map " + machine_file;
          found.is_measured = true;
        }
      }
      auto hosts = machine::find_hosts(names, network);
      if (found.is_measured) machine::add_shared_processors(network, hosts, systems);
      found.wires = std::make_shared<machine::Wires>(network, std::move(hosts));
    } catch (const InputError& error) {
      fault = found.is_measured ? fmt::format("{}: {}", machine_file, error.what()) : error.what();
    }
  }
  agree_on_input(comm, fault);
  return found;
}

}  // namespace tessera::comm
