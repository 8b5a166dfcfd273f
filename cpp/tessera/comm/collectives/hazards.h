// Which earlier messages a message must wait for: those that touch the same elements of the same buffer on the same
// rank.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/comm/collectives/plan.h"

namespace tessera::comm::collectives {

/// Walks through a plan in order. Elements are first cut at every begin and end that occurs in the plan, so that one
/// piece of a buffer is one entry of a table.
class Hazards {
 public:
  /// Keeps track of ranks first … first + count − 1.
  Hazards(const Plan& plan, int first_rank, int count);

  /// `index` reads these elements: appends the last writers of them to `waits_for`.
  void read(int index, int rank, Buffer buffer, std::int64_t begin, std::int64_t length, std::vector<int>& waits_for);
  /// `index` writes them: appends last writers, and readers since.
  void write(int index, int rank, Buffer buffer, std::int64_t begin, std::int64_t length, std::vector<int>& waits_for);

 private:
  struct Piece {
    int writer = -1;
    int readers = -1;  // head of a list in pool_
  };
  std::pair<std::size_t, std::size_t> pieces(Buffer buffer, std::int64_t begin, std::int64_t length) const;
  std::vector<Piece>& row(int rank, Buffer buffer) {
    return rows_[static_cast<std::size_t>(rank - first_rank_) * 3 + static_cast<std::size_t>(buffer)];
  }

  int first_rank_;
  std::array<std::vector<std::int64_t>, 3> cuts_;  // sorted, by buffer
  std::vector<std::vector<Piece>> rows_;           // by rank and buffer; empty until touched
  std::vector<std::pair<int, int>> pool_;          // reader, next
};

}  // namespace tessera::comm::collectives
