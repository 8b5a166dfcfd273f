#include "tessera/comm/collectives/plan.h"

#include <algorithm>
#include <map>

#include "tessera/base/error.h"
#include "tessera/comm/collectives/hazards.h"

namespace tessera::comm::collectives {

std::vector<std::int64_t> Problem::offsets() const {
  std::vector<std::int64_t> offsets{0};
  if (operation == Operation::all_to_all) {
    TESSERA_CHECK(blocks.size() == 1);
    for (int rank = 0; rank < n_ranks; ++rank) offsets.push_back(offsets.back() + blocks.front());
    return offsets;
  }
  for (const auto block : blocks) offsets.push_back(offsets.back() + block);
  return offsets;
}

bool Problem::reduces() const {
  switch (operation) {
    case Operation::reduce:
    case Operation::all_reduce:
    case Operation::reduce_scatter:
    case Operation::scan:
    case Operation::exscan:
      return true;
    default:
      return false;
  }
}

std::vector<Action> actions_of(const Plan& plan, int rank) {
  Hazards hazards(plan, rank, 1);
  std::vector<Action> actions;
  std::map<std::pair<int, int>, int> n_messages;
  for (const auto& message : plan.messages) {
    if (message.from != rank && message.to != rank) continue;
    Action action{message, n_messages[{message.from, message.to}]++, {}};
    const int index = static_cast<int>(actions.size());
    auto& waits = action.depends_on;
    if (message.from == rank) hazards.read(index, rank, message.source, message.begin, message.length, waits);
    if (message.to == rank) hazards.write(index, rank, message.target, message.at, message.length, waits);
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    actions.push_back(std::move(action));
  }
  return actions;
}

Plan between_hosts(Plan plan) {
  auto& messages = plan.messages;
  messages.erase(messages.end() - static_cast<std::ptrdiff_t>(plan.n_distributed), messages.end());
  messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(plan.n_collected));
  plan.n_collected = plan.n_distributed = 0;
  return plan;
}

bool has_blocks_by_rank(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter;
}

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::barrier:
      return "barrier";
    case Operation::broadcast:
      return "broadcast";
    case Operation::scatter:
      return "scatter";
    case Operation::gather:
      return "gather";
    case Operation::all_gather:
      return "all_gather";
    case Operation::all_to_all:
      return "all_to_all";
    case Operation::reduce:
      return "reduce";
    case Operation::all_reduce:
      return "all_reduce";
    case Operation::reduce_scatter:
      return "reduce_scatter";
    case Operation::scan:
      return "scan";
    case Operation::exscan:
      return "exscan";
  }
  return "?";
}

}  // namespace tessera::comm::collectives
