// Finds the earlier messages that a message must wait for: those that touch the same elements of the same buffer on the
// same rank.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/collectives/plan.h"

namespace tessera::collectives {

/// Walks through a plan in order. Buffers are first cut wherever a message of the plan begins or ends, so that each
/// interval between two cuts is one entry of a table.
class Hazards {
 public:
  /// Keeps track of ranks first … first + count − 1.
  Hazards(const MessagePlan& plan, int first_rank, int count);

  /// Notes that message `index` reads these elements, and appends the last writers of them to `waits_for`.
  void read(int index, int rank, Buffer buffer, std::int64_t begin, std::int64_t length, std::vector<int>& waits_for);
  /// Notes that message `index` writes these elements, and appends their last writers and all readers since.
  void write(int index, int rank, Buffer buffer, std::int64_t begin, std::int64_t length, std::vector<int>& waits_for);

 private:
  struct Accesses {
    int writer = -1;
    int readers = -1;  // head of a list in pool_
  };
  std::pair<std::size_t, std::size_t> pieces(Buffer buffer, std::int64_t begin, std::int64_t length) const;
  std::vector<Accesses>& row(int rank, Buffer buffer) {
    auto& row = rows_[static_cast<std::size_t>(rank - first_rank_) * 3 + static_cast<std::size_t>(buffer)];
    if (row.empty()) row.resize(cuts_[static_cast<std::size_t>(buffer)].size());
    return row;
  }

  int first_rank_;
  std::array<std::vector<std::int64_t>, 3> cuts_;  // sorted, by buffer
  std::vector<std::vector<Accesses>> rows_;        // by rank and buffer; empty until touched
  std::vector<std::pair<int, int>> pool_;          // reader, next
};

}  // namespace tessera::collectives
