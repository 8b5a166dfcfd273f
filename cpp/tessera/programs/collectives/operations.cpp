#include "tessera/programs/collectives/operations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/collectives/registry.h"
#include "tessera/comm/check_operations.h"
#include "tessera/machine/orders.h"

namespace tessera::programs {

nlohmann::json check_operations(comm::Communicator& comm) {
  std::vector<std::string> names;
  for (const auto& name : comm.all_gather(comm::bytes_of(comm::Communicator::host()))) {
    const auto text = comm::values_of<char>(name);
    names.emplace_back(text.begin(), text.end());
  }
  const auto network = std::make_shared<const machine::Network>(machine::network_of(names));
  auto runs = nlohmann::json::array(), wrong = nlohmann::json::array();
  const auto check = [&](const std::string& by) {
    runs.push_back(by);
    const auto found = comm::wrong_operations(comm);
    comm.follow(nullptr);  // what was wrong is told by the library's own
    const auto text = found.empty() ? "" : fmt::format("by {}: {}", by, fmt::join(found, ", "));
    for (const auto& told : comm.all_gather(comm::bytes_of(text))) {
      if (told.empty()) continue;
      const auto characters = comm::values_of<char>(told);
      wrong.push_back(std::string(characters.begin(), characters.end()));
      break;
    }
  };
  check("no network");
  comm.follow(network);
  check("auto");
  for (const auto& entry : collectives::entries()) {
    comm.follow(network, {.entry = entry.name});
    check(entry.name);
  }
  return {{"runs", runs}, {"wrong", wrong}};
}

}  // namespace tessera::programs
