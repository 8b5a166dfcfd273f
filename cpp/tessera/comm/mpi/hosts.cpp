#include "tessera/comm/mpi/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"
#include "tessera/machine/network_json.h"
#include "tessera/machine/survey/machine_file.h"

namespace tessera::comm::mpi {
namespace {

constexpr std::size_t longest_list = 5;  // names in a message

std::string short_name(const std::string& name) { return name.substr(0, name.find('.')); }

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), longest_list); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > longest_list ? fmt::format("{} and {} more", text, names.size() - longest_list) : text;
}

/// Index of each host by its name and, where unique, by its short name.
std::map<std::string, int> index_of(const std::vector<machine::Host>& hosts) {
  std::map<std::string, int> index, shortened;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    index.emplace(hosts[h].name, static_cast<int>(h));
    const auto [other, is_new] = shortened.emplace(short_name(hosts[h].name), static_cast<int>(h));
    if (!is_new) other->second = -1;
  }
  for (const auto& [name, h] : shortened)
    if (h >= 0) index.emplace(name, h);
  return index;
}

}  // namespace

std::vector<std::string> gather_names(const std::string& name, MPI_Comm comm) {
  int n = 0, longest = static_cast<int>(name.size());
  MPI_Comm_size(comm, &n);
  MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_INT, MPI_MAX, comm);
  const auto width = static_cast<std::size_t>(longest) + 1;
  std::string own = name, all(width * static_cast<std::size_t>(n), '\0');
  own.resize(width, '\0');
  MPI_Allgather(own.data(), longest + 1, MPI_CHAR, all.data(), longest + 1, MPI_CHAR, comm);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all.size(); at += width) names.emplace_back(all.c_str() + at);
  return names;
}

std::string this_host() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return {name, static_cast<std::size_t>(length)};
}

machine::Network network_of(const std::vector<std::string>& names, machine::Link link) {
  std::vector<machine::Host> hosts;
  for (const auto& name : names) {
    const auto known = std::find_if(hosts.begin(), hosts.end(), [&](const auto& host) { return host.name == name; });
    if (known == hosts.end()) {
      hosts.emplace_back().name = name;
    } else {
      ++known->slots;
    }
  }
  return machine::one_switch(hosts, link);
}

std::vector<int> find_hosts(const std::vector<std::string>& names, const machine::Network& network) {
  const auto index = index_of(network.hosts);
  std::vector<int> found;
  std::vector<std::string> unknown;
  for (const auto& name : names) {
    auto at = index.find(name);
    if (at == index.end()) at = index.find(short_name(name));
    found.push_back(at == index.end() ? -1 : at->second);
    if (at == index.end() && std::find(unknown.begin(), unknown.end(), name) == unknown.end()) unknown.push_back(name);
  }
  if (unknown.empty()) return found;
  std::vector<std::string> known;
  for (const auto& host : network.hosts) known.push_back(host.name);
  const bool is_other = std::all_of(found.begin(), found.end(), [](int host) { return host < 0; });
  throw InputError(
      fmt::format("the map of the machine {} {}; it knows {}: measure the network of these hosts "
                  "(tessera machine measure)",
                  is_other ? "is of another cluster: it has none of the hosts" : "lacks the host(s)", list_of(unknown),
                  list_of(known)));
}

std::string agreed_text(const std::string& text, MPI_Comm comm) {
  int rank = 0, n = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &n);
  int speaker = text.empty() ? n : rank;
  MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, comm);
  if (speaker == n) return {};
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, speaker, comm);
  std::string agreed = text;
  agreed.resize(static_cast<std::size_t>(length));
  MPI_Bcast(agreed.data(), length, MPI_CHAR, speaker, comm);
  return agreed;
}

MapReading read_map(const std::string& path, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MapReading reading;
  std::string network, fault;
  if (rank == 0) {
    try {
      auto [machine, measurements, trials] = machine::read_machine_file(path);
      if (!machine.network)
        throw InputError(path + ": knows no network; measure it between the hosts (tessera machine measure)");
      network = machine::to_json(*machine.network).dump();
      reading.trials = std::move(trials);
      const auto library = Communicator::library_version();
      std::erase_if(reading.trials, [&](const machine::Trial& trial) { return trial.library != library; });
    } catch (const std::exception& error) {
      fault = error.what();
    }
  }
  reading.warning = agreed_text(fault, comm);
  if (!reading.warning.empty()) {
    reading.warning += "; the MPI library's own collectives are used";
  } else {
    const auto json = nlohmann::json::parse(agreed_text(network, comm));
    reading.network = std::make_shared<const machine::Network>(machine::network_from_json(json, path));
  }
  return reading;
}

}  // namespace tessera::comm::mpi
