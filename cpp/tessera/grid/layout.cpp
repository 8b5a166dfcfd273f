#include "tessera/grid/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/machine/orders.h"

namespace tessera::grid {

IndexBox without_outside(IndexBox box, const Index3& shape, const std::array<bool, 3>& is_periodic) {
  for (std::size_t d = 0; d < 3; ++d)
    if (!is_periodic[d]) {
      box.lower[d] = std::clamp<std::int64_t>(box.lower[d], 0, shape[d]);
      box.upper[d] = std::clamp<std::int64_t>(box.upper[d], 0, shape[d]);
    }
  return box;
}

Index3 choose_processes(const Index3& shape, const std::array<bool, 3>& is_periodic, int ranks) {
  // Points that all processes send to neighbours, for faces of one point.
  const auto surface = [&](const Index3& processes) {
    double sum = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto cuts = processes[d] == 1 ? 0 : processes[d] - (is_periodic[d] ? 0 : 1);
      sum +=
          static_cast<double>(cuts) * static_cast<double>(shape[(d + 1) % 3]) * static_cast<double>(shape[(d + 2) % 3]);
    }
    return sum;
  };
  for (std::int64_t used = ranks; used > 1; --used) {
    Index3 best{};
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t x = std::min(used, shape[0]); x >= 1; --x) {
      if (used % x != 0) continue;
      for (std::int64_t y = std::min(used / x, shape[1]); y >= 1; --y) {
        const auto z = used / x / y;
        if (used / x % y != 0 || z > shape[2]) continue;
        if (const double its = surface({x, y, z}); its < least) least = its, best = {x, y, z};
      }
    }
    // A number of ranks whose only divisions make thin slabs is left for a smaller one.
    if (best[0] > 0) return best;
  }
  return {1, 1, 1};
}

GridLayout plan_layout(const Index3& shape, const std::array<bool, 3>& is_periodic, int ranks,
                       const std::optional<Index3>& processes, const machine::Wires* wires) {
  for (const auto n : shape)
    if (n < 1)
      throw InputError(fmt::format("the grid has {} × {} × {} points; expected at least one along each edge", shape[0],
                                   shape[1], shape[2]));
  GridLayout layout{shape, is_periodic, processes ? *processes : choose_processes(shape, is_periodic, ranks), {}};
  const auto& p = layout.processes;
  for (std::size_t d = 0; d < 3; ++d)
    if (p[d] < 1 || p[d] > shape[d])
      throw InputError(fmt::format("{} processes along {} of a grid of {} points there; expected 1 to {}", p[d],
                                   "xyz"[d], shape[d], shape[d]));
  const auto n = p[0] * p[1] * p[2];
  if (n > ranks)
    throw InputError(fmt::format("{} × {} × {} processes need {} ranks; there are {}", p[0], p[1], p[2], n, ranks));
  std::vector<int> rank_of_place(static_cast<std::size_t>(n));
  if (wires != nullptr && n == ranks && wires->n_hosts() > 1)
    rank_of_place = machine::ranks_in_grid(*wires, p);
  else
    for (std::size_t place = 0; place < rank_of_place.size(); ++place) rank_of_place[place] = static_cast<int>(place);
  layout.boxes.resize(static_cast<std::size_t>(ranks));
  std::size_t place = 0;
  Index3 at{};
  for (at[0] = 0; at[0] < p[0]; ++at[0])
    for (at[1] = 0; at[1] < p[1]; ++at[1])
      for (at[2] = 0; at[2] < p[2]; ++at[2]) {
        auto& box = layout.boxes[static_cast<std::size_t>(rank_of_place[place++])];
        for (std::size_t d = 0; d < 3; ++d) {
          box.lower[d] = shape[d] * at[d] / p[d];
          box.upper[d] = shape[d] * (at[d] + 1) / p[d];
        }
      }
  return layout;
}

}  // namespace tessera::grid
