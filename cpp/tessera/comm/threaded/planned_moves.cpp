// One message after the other, in the order of the plan: sends never wait.
#include "tessera/comm/planned_moves.h"

#include <cstring>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/threaded/job.h"

namespace tessera::comm {

namespace {
constexpr int tag = -2;  // of no message of users
}

struct PlannedMoves::Implementation {
  const Communicator& comm;
  std::vector<collectives::Plan> plans;
};

PlannedMoves::PlannedMoves(const Communicator& comm) : implementation_(new Implementation{comm, {}}) {}
PlannedMoves::PlannedMoves(PlannedMoves&&) noexcept = default;
PlannedMoves::~PlannedMoves() = default;

int PlannedMoves::add(const collectives::Plan& plan) {
  implementation_->plans.push_back(plan);
  return static_cast<int>(implementation_->plans.size()) - 1;
}

void PlannedMoves::execute(int plan, const std::byte* input, std::byte* output) {
  using collectives::Buffer;
  const auto& [comm, plans] = *implementation_;
  const auto& chosen = plans[static_cast<std::size_t>(plan)];
  std::vector<std::byte> scratch(static_cast<std::size_t>(chosen.scratch));
  const auto to_write = [&](Buffer buffer) { return buffer == Buffer::output ? output : scratch.data(); };
  const auto to_read = [&](Buffer buffer) { return buffer == Buffer::input ? input : to_write(buffer); };
  for (const auto& message : chosen.messages) {
    TESSERA_CHECK(message.effect == collectives::Effect::replace && message.target != Buffer::input);
    const auto size = static_cast<std::size_t>(message.length);
    const bool is_from = message.from == comm.rank(), is_to = message.to == comm.rank();
    if (is_from && is_to) {
      std::memcpy(to_write(message.target) + message.at, to_read(message.source) + message.begin, size);
    } else if (is_from) {
      comm.start_send({to_read(message.source) + message.begin, size}, message.to, tag);
    } else if (is_to) {
      auto request = comm.start_receive({to_write(message.target) + message.at, size}, message.from, tag);
      Communicator::wait_all({&request, 1});
    }
  }
}

}  // namespace tessera::comm
