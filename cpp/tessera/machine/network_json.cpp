#include "tessera/machine/network_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tessera/machine/json_reader.h"

namespace tessera::machine {
namespace {

nlohmann::json json_of(const Link& link) { return {{"latency", link.latency}, {"bandwidth", link.bandwidth}}; }

Link link_of(const JsonReader& reader, const char* key) {
  const JsonReader link(reader.at(key), reader.where(key));
  return {link.get<double>("latency"), link.get<double>("bandwidth")};
}

Routes routes_of(const JsonReader& reader) {
  Routes routes;
  const auto kind = reader.get<std::string>("kind");
  if (kind == name_of(Routes::Kind::tree))
    routes.kind = Routes::Kind::tree;
  else if (kind != name_of(Routes::Kind::torus))
    throw InputError(fmt::format("{} is {}, expected torus or tree", reader.where("kind"), kind));
  for (const auto& n : reader.list("shape")) routes.shape.push_back(JsonReader::convert<int>(n, reader.where("shape")));
  routes.bandwidth = reader.get<double>("bandwidth");
  return routes;
}

nlohmann::json json_of(const Traffic& traffic, const Network& network) {
  nlohmann::json json = {
      {"date", traffic.date}, {"ports", nlohmann::json::array()}, {"lines", nlohmann::json::array()}};
  for (std::size_t h = 0; h < traffic.ports.size(); ++h)
    if (const auto& port = traffic.ports[h]; port != Traffic::Port{})
      json["ports"].push_back({{"host", network.hosts[h].name}, {"out", port.out}, {"in", port.in}});
  for (std::size_t s = 0; s < traffic.subnets.size(); ++s)
    if (const auto& lines = traffic.subnets[s]; lines != Traffic::Lines{})
      json["lines"].push_back({{"subnet", s}, {"bus", lines.bus}, {"up", lines.up}, {"down", lines.down}});
  return json;
}

Traffic traffic_of(const JsonReader& reader, const std::unordered_map<std::string, int>& host_index,
                   std::size_t n_subnets) {
  Traffic traffic{reader.get<std::string>("date"), std::vector<Traffic::Port>(host_index.size()),
                  std::vector<Traffic::Lines>(n_subnets)};
  std::size_t n = 0;
  for (const auto& entry : reader.list("ports")) {
    const JsonReader port(entry, fmt::format("{}[{}]", reader.where("ports"), n++));
    const auto host = host_index.find(port.get<std::string>("host"));
    if (host == host_index.end())
      throw InputError(fmt::format("{} is {}, which is not one of network.hosts", port.where("host"),
                                   port.get<std::string>("host")));
    traffic.ports[static_cast<std::size_t>(host->second)] = {port.get<double>("out", 0.0), port.get<double>("in", 0.0)};
  }
  n = 0;
  for (const auto& entry : reader.list("lines")) {
    const JsonReader lines(entry, fmt::format("{}[{}]", reader.where("lines"), n++));
    const auto subnet = lines.get<int>("subnet");
    if (subnet < 0 || static_cast<std::size_t>(subnet) >= n_subnets)
      throw InputError(fmt::format("{} is {}, expected one of 0 to {}", lines.where("subnet"), subnet, n_subnets - 1));
    traffic.subnets[static_cast<std::size_t>(subnet)] = {lines.get<double>("bus", 0.0), lines.get<double>("up", 0.0),
                                                         lines.get<double>("down", 0.0)};
  }
  return traffic;
}

Medium medium_of(const JsonReader& reader) {
  const auto name = reader.get<std::string>("medium", "unknown");
  for (const auto medium : {Medium::unknown, Medium::bus, Medium::fabric})
    if (name == name_of(medium)) return medium;
  throw InputError(fmt::format("{} is {}, expected bus, fabric or unknown", reader.where("medium"), name));
}

}  // namespace

const char* name_of(Medium medium) {
  switch (medium) {
    case Medium::bus:
      return "bus";
    case Medium::fabric:
      return "fabric";
    case Medium::unknown:
      break;
  }
  return "unknown";
}

nlohmann::json to_json(const Network& network) {
  auto hosts = nlohmann::json::array();
  for (const auto& host : network.hosts)
    hosts.push_back({{"name", host.name},
                     {"slots", host.slots},
                     {"inside", host.inside ? json_of(*host.inside) : nlohmann::json(nullptr)}});
  auto subnets = nlohmann::json::array();
  for (const auto& subnet : network.subnets) {
    nlohmann::json entry = {{"medium", name_of(subnet.medium)}, {"link", json_of(subnet.link)}};
    entry["uplink"] = subnet.uplink ? nlohmann::json(*subnet.uplink) : nlohmann::json(nullptr);
    if (subnet.is_leaf()) {
      auto& names = entry["hosts"] = nlohmann::json::array();
      for (const int host : subnet.hosts) names.push_back(network.hosts[static_cast<std::size_t>(host)].name);
    } else {
      entry["parts"] = subnet.subnets;
    }
    subnets.push_back(std::move(entry));
  }
  nlohmann::json json = {{"hosts", std::move(hosts)}, {"subnets", std::move(subnets)}};
  for (const auto& [members, work] : network.processors) {
    auto& entry = json["processors"].emplace_back(nlohmann::json{{"work", json_of(work)}});
    for (const int host : members) entry["hosts"].push_back(network.hosts[static_cast<std::size_t>(host)].name);
  }
  if (network.routes)
    json["routes"] = {{"kind", name_of(network.routes->kind)},
                      {"shape", network.routes->shape},
                      {"bandwidth", network.routes->bandwidth}};
  if (network.traffic) json["traffic"] = json_of(*network.traffic, network);
  return json;
}

Network network_from_json(const nlohmann::json& json, const std::string& name) {
  const JsonReader reader(json, name + ": network");
  Network network;
  std::unordered_map<std::string, int> index;
  for (const auto& entry : reader.list("hosts")) {
    const JsonReader host(entry, fmt::format("{}[{}]", reader.where("hosts"), network.hosts.size()));
    index.emplace(host.get<std::string>("name"), static_cast<int>(network.hosts.size()));
    network.hosts.push_back({host.get<std::string>("name"), host.get<int>("slots", 1), std::nullopt});
    if (host.has("inside")) network.hosts.back().inside = link_of(host, "inside");
  }
  const auto hosts_of = [&](const JsonReader& owner) {
    std::vector<int> found;
    for (const auto& entry : owner.list("hosts")) {
      const auto host = JsonReader::convert<std::string>(entry, owner.where("hosts"));
      const auto known = index.find(host);
      if (known == index.end())
        throw InputError(fmt::format("{} has {}, which is not one of network.hosts", owner.where("hosts"), host));
      found.push_back(known->second);
    }
    return found;
  };
  for (const auto& entry : reader.list("subnets")) {
    const JsonReader subnet(entry, fmt::format("{}[{}]", reader.where("subnets"), network.subnets.size()));
    Subnet read;
    read.medium = medium_of(subnet);
    if (subnet.has("link")) read.link = link_of(subnet, "link");
    if (subnet.has("uplink")) read.uplink = subnet.get<double>("uplink");
    if (subnet.has("parts"))
      for (const auto& part : subnet.list("parts"))
        read.subnets.push_back(JsonReader::convert<int>(part, subnet.where("parts")));
    if (subnet.has("hosts")) read.hosts = hosts_of(subnet);
    network.subnets.push_back(std::move(read));
  }
  if (reader.has("processors"))
    for (const auto& entry : reader.list("processors")) {
      const JsonReader shared(entry, fmt::format("{}[{}]", reader.where("processors"), network.processors.size()));
      network.processors.push_back({hosts_of(shared), link_of(shared, "work")});
    }
  if (reader.has("routes")) network.routes = routes_of({reader.at("routes"), reader.where("routes")});
  if (reader.has("traffic"))
    network.traffic = traffic_of({reader.at("traffic"), reader.where("traffic")}, index, network.subnets.size());
  for (std::size_t s = 0; s < network.subnets.size(); ++s)
    for (const int part : network.subnets[s].subnets)
      if (part > static_cast<int>(s) && part < static_cast<int>(network.subnets.size()))
        network.subnets[static_cast<std::size_t>(part)].parent = static_cast<int>(s);
  network.check(name + ": network");
  return network;
}

}  // namespace tessera::machine
