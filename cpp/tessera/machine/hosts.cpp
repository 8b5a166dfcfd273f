#include "tessera/machine/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tessera/base/error.h"

namespace tessera::machine {
namespace {

constexpr std::size_t longest_list = 5;  // names in a message

std::string short_name(const std::string& name) { return name.substr(0, name.find('.')); }

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), longest_list); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > longest_list ? fmt::format("{} and {} more", text, names.size() - longest_list) : text;
}

/// Index of each host by its name and, where unique, by its short name.
std::map<std::string, int> index_of(const std::vector<Host>& hosts) {
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

Network network_of(const std::vector<std::string>& names, Link link) {
  std::vector<Host> hosts;
  for (const auto& name : names) {
    const auto known = std::find_if(hosts.begin(), hosts.end(), [&](const auto& host) { return host.name == name; });
    if (known == hosts.end()) {
      hosts.emplace_back().name = name;
    } else {
      ++known->slots;
    }
  }
  return one_switch(hosts, link);
}

std::vector<int> find_hosts(const std::vector<std::string>& names, const Network& network) {
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

}  // namespace tessera::machine
