#include "tessera/collectives/plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <type_traits>

#include "tessera/base/error.h"
#include "tessera/collectives/hazards.h"

namespace tessera::collectives {

void ElementRange::include(const ElementRange& other) {
  if (other.is_empty()) return;
  const ElementRange own = is_empty() ? other : *this;
  begin = std::min(own.begin, other.begin);
  length = std::max(own.end(), other.end()) - begin;
}

std::vector<std::int64_t> CollectiveProblem::offsets() const {
  std::vector<std::int64_t> offsets{0};
  if (operation == Operation::all_to_all) {
    TESSERA_CHECK(blocks.size() == 1);
    for (int rank = 0; rank < n_ranks; ++rank) offsets.push_back(offsets.back() + blocks.front());
    return offsets;
  }
  for (const auto block : blocks) offsets.push_back(offsets.back() + block);
  return offsets;
}

bool CollectiveProblem::reduces() const {
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

namespace {

/// Calls `visit` with every member of a plan, in the order of their bytes. A new member must be added here.
template <class SomePlan, class Visit>
void for_members(SomePlan& plan, Visit&& visit) {
  auto& [entry, messages, scratch, window, horizon, n_collected, n_distributed] = plan;
  visit(entry);
  visit(messages);
  visit(scratch);
  visit(window);
  visit(horizon);
  visit(n_collected);
  visit(n_distributed);
}

template <class Member>
constexpr bool is_list = !std::is_arithmetic_v<Member>;

}  // namespace

std::vector<std::byte> serialise(const MessagePlan& plan) {
  std::vector<std::byte> bytes;
  const auto append = [&](const auto* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<std::remove_cvref_t<decltype(*values)>>);
    const auto* begin = reinterpret_cast<const std::byte*>(values);
    bytes.insert(bytes.end(), begin, begin + count * sizeof *values);
  };
  for_members(plan, [&](const auto& member) {
    if constexpr (is_list<std::remove_cvref_t<decltype(member)>>) {
      const std::size_t count = member.size();
      append(&count, 1);
      append(member.data(), count);
    } else {
      append(&member, 1);
    }
  });
  return bytes;
}

MessagePlan deserialise(std::span<const std::byte> bytes) {
  MessagePlan plan;
  const auto take = [&](auto* values, std::size_t count) {
    TESSERA_CHECK(count <= bytes.size() / sizeof *values);
    const auto size = count * sizeof *values;
    if (size > 0) std::memcpy(values, bytes.data(), size);
    bytes = bytes.subspan(size);
  };
  for_members(plan, [&](auto& member) {
    if constexpr (is_list<std::remove_cvref_t<decltype(member)>>) {
      std::size_t count = 0;
      take(&count, 1);
      TESSERA_CHECK(count <= bytes.size() / sizeof member[0]);
      member.resize(count);
      take(member.data(), count);
    } else {
      take(&member, 1);
    }
  });
  TESSERA_CHECK(bytes.empty());
  return plan;
}

std::vector<Action> actions_of(const MessagePlan& plan, int rank) {
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

MessagePlan between_hosts(MessagePlan plan) {
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

}  // namespace tessera::collectives
