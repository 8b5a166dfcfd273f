#include "tessera/comm/planned_moves.h"

#include <vector>

#include "tessera/comm/threaded/execute.h"

namespace tessera::comm {

struct PlannedMoves::Implementation {
  const Communicator& comm;
  std::vector<collectives::MessagePlan> plans;
};

PlannedMoves::PlannedMoves(const Communicator& comm) : implementation_(new Implementation{comm, {}}) {}
PlannedMoves::PlannedMoves(PlannedMoves&&) noexcept = default;
PlannedMoves::~PlannedMoves() = default;

int PlannedMoves::add(const collectives::MessagePlan& plan) {
  implementation_->plans.push_back(plan);
  return static_cast<int>(implementation_->plans.size()) - 1;
}

void PlannedMoves::execute(int plan, const std::byte* input, std::byte* output) {
  const auto& [comm, plans] = *implementation_;
  comm::execute(plans[static_cast<std::size_t>(plan)], comm, 1, input, output);
}

}  // namespace tessera::comm
