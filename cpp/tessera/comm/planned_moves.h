// Plans that move bytes and combine nothing, carried out again and again.
#pragma once

#include <cstddef>
#include <memory>

#include "tessera/comm/collectives/plan.h"
#include "tessera/comm/communicator.h"

namespace tessera::comm {

class PlannedMoves {
 public:
  struct Implementation;

  /// Collective.
  explicit PlannedMoves(const Communicator& comm);
  PlannedMoves(PlannedMoves&&) noexcept;
  ~PlannedMoves();

  /// The same plan on all ranks, of elements of one byte. Returns its number.
  int add(const collectives::Plan& plan);
  /// From the plan's input to its output. All ranks the same plan. Collective.
  void execute(int plan, const std::byte* input, std::byte* output);

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tessera::comm
