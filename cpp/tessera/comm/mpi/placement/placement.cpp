#include "tessera/comm/mpi/placement/placement.h"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/mpi/placement/hosts.h"
#include "tessera/comm/mpi/placement/traffic.h"
#include "tessera/machine/orders.h"

namespace tessera::comm::mpi {
namespace {

/// Returns a number that differs (almost surely) where networks differ.
std::uint64_t fingerprint(const machine::Network& network) {
  std::string text;
  const auto add = [&](const machine::Link& link) { text += fmt::format("{} {};", link.latency, link.bandwidth); };
  for (const auto& host : network.hosts) {
    text += fmt::format("{} {};", host.name, host.slots);
    if (host.inside) add(*host.inside);
  }
  for (const auto& subnet : network.subnets) {
    text += fmt::format("{} {} {};", subnet.parent, static_cast<int>(subnet.medium), subnet.uplink.value_or(0));
    for (const int host : subnet.hosts) text += fmt::format("{},", host);
    add(subnet.link);
  }
  for (const auto& [hosts, work] : network.processors) {
    for (const int host : hosts) text += fmt::format("{},", host);
    add(work);
  }
  if (const auto& traffic = network.traffic) {
    for (const auto& [out, in] : traffic->ports) text += fmt::format("{} {};", out, in);
    for (const auto& [bus, up, down] : traffic->subnets) text += fmt::format("{} {} {};", bus, up, down);
  }
  return std::hash<std::string>{}(text);
}

/// Returns the hosts of the ranks. Throws InputError where the network is invalid or lacks one of them.
std::vector<int> hosts_in(const machine::Network& network, const std::vector<std::string>& names) {
  network.check("the map of the machine");
  return machine::find_hosts(names, network);
}

}  // namespace

Placement::Placement(MPI_Comm comm, std::shared_ptr<const machine::Network> network, const std::string& host,
                     double seconds_for_traffic) {
  int joins_groups = 0;
  MPI_Comm_test_inter(comm, &joins_groups);
  if (joins_groups) return;
  MPI_Comm_group(comm, &ranks_);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const auto names = gather_names(host.empty() ? Communicator::host() : host, comm);
  const std::uint64_t own = network ? fingerprint(*network) : 0;
  std::uint64_t first = own;
  MPI_Bcast(&first, 1, MPI_UINT64_T, 0, comm);
  std::string fault;
  if (own != first) {
    fault = fmt::format("rank {} has another map of the machine than rank 0: give all ranks the same file", rank);
  } else if (network) {
    try {
      host_of_rank_ = hosts_in(*network, names);
    } catch (const InputError& error) {
      fault = error.what();
    }
  }
  warning_ = agreed_text(fault, comm);
  if (!warning_.empty()) {
    warning_ += "; the MPI library's own collectives are used";
    return;
  }
  is_measured_ = network != nullptr;
  if (is_measured_ && seconds_for_traffic > 0) {
    auto busy = std::make_shared<machine::Network>(*network);
    busy->traffic = measure_traffic(comm, *network, host_of_rank_, seconds_for_traffic);
    network = std::move(busy);
  }
  network_ = is_measured_ ? std::move(network) : std::make_shared<const machine::Network>(machine::network_of(names));
  if (!is_measured_) host_of_rank_ = machine::find_hosts(names, *network_);
}

Placement::~Placement() {
  int has_ended = 0;
  MPI_Finalized(&has_ended);
  if (!has_ended && ranks_ != MPI_GROUP_NULL) MPI_Group_free(&ranks_);
}

std::optional<std::vector<int>> Placement::hosts_of(MPI_Comm comm) const {
  int joins_groups = 0, n = 0;
  MPI_Comm_test_inter(comm, &joins_groups);
  if (joins_groups || !network_) return std::nullopt;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  MPI_Group_size(group, &n);
  std::vector<int> ranks(static_cast<std::size_t>(n)), placed = ranks;
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group_translate_ranks(group, n, ranks.data(), ranks_, placed.data());
  MPI_Group_free(&group);
  std::vector<int> hosts;
  for (const int rank : placed) {
    if (rank == MPI_UNDEFINED) return std::nullopt;
    hosts.push_back(host_of_rank_[static_cast<std::size_t>(rank)]);
  }
  return hosts;
}

std::optional<machine::Wires> Placement::wires_of(MPI_Comm comm, const GroupsAtOnce& others) const {
  auto hosts = hosts_of(comm);
  if (!hosts) return std::nullopt;
  return machine::Wires(*network_, std::move(*hosts), others);
}

GroupsAtOnce Placement::groups_at_once(MPI_Comm whole, MPI_Comm part) const {
  const auto hosts = hosts_of(whole);
  if (!hosts) return {};  // on all ranks
  // Each rank says which rank of the whole is the first of its group.
  int own = MPI_UNDEFINED;
  if (part != MPI_COMM_NULL) {
    MPI_Group of_whole = MPI_GROUP_NULL, of_part = MPI_GROUP_NULL;
    MPI_Comm_group(whole, &of_whole);
    MPI_Comm_group(part, &of_part);
    const int first = 0;
    MPI_Group_translate_ranks(of_part, 1, &first, of_whole, &own);
    MPI_Group_free(&of_part);
    MPI_Group_free(&of_whole);
  }
  std::vector<int> firsts(hosts->size(), MPI_UNDEFINED);
  if (MPI_Allgather(&own, 1, MPI_INT, firsts.data(), 1, MPI_INT, whole) != MPI_SUCCESS) return {};
  std::map<int, std::vector<int>> groups;
  for (std::size_t rank = 0; rank < firsts.size(); ++rank)
    if (firsts[rank] != MPI_UNDEFINED && firsts[rank] != own) groups[firsts[rank]].push_back((*hosts)[rank]);
  GroupsAtOnce found;
  for (auto& [first, ranks] : groups)
    if (ranks.size() > 1) found.push_back(std::move(ranks));
  return found;
}

}  // namespace tessera::comm::mpi
