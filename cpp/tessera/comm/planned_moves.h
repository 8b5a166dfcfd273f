// Plans that move bytes and combine nothing, for execution again and again.
#pragma once

#include <cstddef>
#include <memory>

#include "tessera/collectives/plan.h"
#include "tessera/comm/communicator.h"

namespace tessera::comm {

class PlannedMoves {
 public:
  struct Implementation;

  /// Makes an object without plans. Collective.
  explicit PlannedMoves(const Communicator& comm);
  PlannedMoves(PlannedMoves&&) noexcept;
  ~PlannedMoves();

  /// Adds a plan of elements of one byte, which is the same on all ranks, and returns its number.
  int add(const collectives::MessagePlan& plan);
  /// Moves bytes from the plan's input to its output. All ranks execute the same plan. Collective.
  void execute(int plan, const std::byte* input, std::byte* output);

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tessera::comm
