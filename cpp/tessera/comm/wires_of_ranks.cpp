#include "tessera/comm/wires_of_ranks.h"

#include <fmt/format.h>

#include <utility>

#include "tessera/base/error.h"
#include "tessera/machine/orders.h"
#include "tessera/machine/survey/machine_file.h"

namespace tessera::comm {

RankWires wires_of_ranks(const Communicator& comm, const std::string& machine_file) {
  std::vector<std::string> names;
  for (const auto& name : comm.gather(bytes_of(Communicator::host()), 0)) {
    const auto text = values_of<char>(name);
    names.emplace_back(text.begin(), text.end());
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
      found.wires = std::make_shared<machine::Wires>(network, machine::find_hosts(names, network));
    } catch (const InputError& error) {
      fault = found.is_measured ? fmt::format("{}: {}", machine_file, error.what()) : error.what();
    }
  }
  agree_on_input(comm, fault);
  return found;
}

}  // namespace tessera::comm
