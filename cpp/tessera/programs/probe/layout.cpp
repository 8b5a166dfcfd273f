#include "tessera/programs/probe/layout.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/machine/load/shared_processors.h"

namespace tessera::programs::probe {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

}  // namespace

int HostLayout::leader(int host) const {
  return static_cast<int>(std::ranges::find(host_of_rank, host) - host_of_rank.begin());
}

std::optional<int> HostLayout::second(int host) const {
  const auto next = std::find(host_of_rank.begin() + leader(host) + 1, host_of_rank.end(), host);
  return next == host_of_rank.end() ? std::nullopt : std::optional(static_cast<int>(next - host_of_rank.begin()));
}

HostLayout find_layout(const comm::Communicator& comm) {
  HostLayout layout;
  for (const auto& bytes : comm.all_gather(comm::bytes_of(host_name()))) {
    const std::string name = text_of(bytes);
    const auto known = std::ranges::find(layout.hosts, name);
    layout.host_of_rank.push_back(static_cast<int>(known - layout.hosts.begin()));
    if (known == layout.hosts.end()) layout.hosts.push_back(name);
  }
  const int host = layout.host_of_rank[static_cast<std::size_t>(comm.rank())];
  std::string description;
  if (layout.leader(host) == comm.rank()) {  // the others would only say the same again
    auto machine = machine::describe_this_host();
    machine.usable_threads.reset();  // of this process, not of the host
    description = nlohmann::json{{"node", machine::to_json(machine)}, {"kernel", machine::operating_system()}}.dump();
  }
  std::vector<std::string> kernels;
  for (const auto& bytes : comm.gather(comm::bytes_of(description), 0)) {
    if (bytes.empty()) continue;
    const auto json = nlohmann::json::parse(text_of(bytes));
    layout.machines.push_back(machine::machine_from_json(json.at("node"), "the description of a host"));
    const auto id = json.at("kernel").get<std::string>();
    const auto known = std::ranges::find(kernels, id);
    layout.kernels.push_back(id.empty() ? -1 : static_cast<int>(known - kernels.begin()));
    if (known == kernels.end()) kernels.push_back(id);
  }
  return layout;
}

}  // namespace tessera::programs::probe
