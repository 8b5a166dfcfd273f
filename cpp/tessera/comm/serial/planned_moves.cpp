#include "tessera/comm/planned_moves.h"

namespace tessera::comm {

// One rank has nobody to move anything to.
struct PlannedMoves::Implementation {};

PlannedMoves::PlannedMoves(const Communicator&) {}
PlannedMoves::PlannedMoves(PlannedMoves&&) noexcept = default;
PlannedMoves::~PlannedMoves() = default;

int PlannedMoves::add(const collectives::MessagePlan&) { return 0; }
void PlannedMoves::execute(int, const std::byte*, std::byte*) {}

}  // namespace tessera::comm
