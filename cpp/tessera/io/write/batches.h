// Brings atoms from the ranks that own them to the ranks that write them, batch by batch, in the order of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/io/write/frame.h"
#include "tessera/io/write/plan.h"

namespace tessera::io::write {

/// Takes atoms in the order of their places, the first of which is `first`. It may get none.
using TakeAtoms = std::function<void(const Atoms& atoms, std::int64_t first)>;

class Batches {
 public:
  /// Takes the atoms of this rank, in any order; by id they are numbered from 1 without gaps over all ranks.
  Batches(const comm::Communicator& comm, const WriteProblem& problem, Order order, const Atoms& atoms);

  /// Calls `take` on every rank plan.n_rounds times, with the next batch of its part, or with no atoms. Returns what is
  /// wrong with the ids that came to this rank; empty if nothing is. Collective.
  std::string exchange(const WritePlan& plan, const TakeAtoms& take) const;

  /// Sends all atoms to the writer of the only part: each rank in turn, batch by batch, after the ranks have sorted
  /// them among themselves. `take` is called on the writer. Returns as exchange(). Collective.
  std::string in_turn(const WritePlan& plan, const TakeAtoms& take) const;

 private:
  bool are_in_order() const;
  bool is_mine(const WritePlan& plan) const;
  std::string exchange_owned(const WritePlan& plan, const TakeAtoms& take) const;
  std::string exchange_sorted(const WritePlan& plan, const TakeAtoms& take) const;

  const comm::Communicator& comm_;
  const WriteProblem& problem_;
  Order order_;
  Atoms atoms_;
  std::int64_t first_owned_ = 0;  // place of this rank's first atom as owned
};

}  // namespace tessera::io::write
