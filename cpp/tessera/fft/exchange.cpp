#include "tessera/fft/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/collectives/predict.h"

namespace tessera::fft {

namespace {

using comm::collectives::Plan;

// More blocks than this are not looked at by the model message by message: seconds.
constexpr std::size_t most_blocks = 100'000;

}  // namespace

const std::vector<std::string>& exchanges() {
  static const std::vector<std::string> names{"pairwise", "alltoall", "collectives"};
  return names;
}

void check_exchange(const std::string& name) {
  std::vector<std::string> known{"auto"};
  known.insert(known.end(), exchanges().begin(), exchanges().end());
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw InputError(fmt::format("no exchange is called \"{}\"; {}", name, suggestion(name, known)));
}

std::optional<Plan> plan_blocks(const Exchanges& exchanges, const std::vector<comm::collectives::Block>& blocks) {
  Plan plan;
  if (exchanges.comm.is_root()) {
    const auto& wires = *exchanges.wires;
    auto direct = plan_direct_exchange(blocks, wires);
    const bool is_asked_for = exchanges.name == "collectives";
    if (blocks.size() > most_blocks) {
      if (is_asked_for) plan = std::move(direct);
    } else {
      auto gathered = plan_gathered_exchange(blocks, wires);
      comm::collectives::Problem problem;
      problem.n_ranks = exchanges.comm.size();
      const double seconds = comm::collectives::predict(direct, problem, wires).seconds;
      const double by_host = comm::collectives::predict(gathered, problem, wires).seconds;
      if (by_host < least_gain * seconds)
        plan = std::move(gathered);
      else if (is_asked_for)
        plan = std::move(direct);
    }
  }
  const auto& comm = exchanges.comm;
  comm::broadcast_resized(comm, plan.entry);
  if (plan.entry.empty()) return {};
  comm::broadcast_resized(comm, plan.messages);
  comm.broadcast(std::as_writable_bytes(std::span(&plan.scratch, 1)), 0);
  return plan;
}

}  // namespace tessera::fft
