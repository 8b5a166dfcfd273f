#include "tessera/grid/halo.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tessera/fft/plan.h"

namespace tessera::grid {

namespace {

std::int64_t points_of(const std::vector<HaloPiece>& pieces) {
  std::int64_t sum = 0;
  for (const auto& piece : pieces) sum += piece.box.size();
  return sum;
}

/// Returns the part of a box's halo on one side of a direction. With corners, edges belong to the later direction.
IndexBox side_of(const GridLayout& layout, const HaloShape& shape, const IndexBox& box, std::size_t direction,
                 bool is_above) {
  if (box.is_empty()) return {};
  IndexBox side = box;
  if (shape.has_corners)
    for (std::size_t d = 0; d < direction; ++d) {
      side.lower[d] -= shape.reach[0][d];
      side.upper[d] += shape.reach[1][d];
    }
  if (is_above) {
    side.lower[direction] = box.upper[direction];
    side.upper[direction] = box.upper[direction] + shape.reach[1][direction];
  } else {
    side.lower[direction] = box.lower[direction] - shape.reach[0][direction];
    side.upper[direction] = box.lower[direction];
  }
  return without_outside(side, layout.shape, layout.is_periodic);
}

}  // namespace

std::int64_t HaloPeer::send_points() const { return points_of(send); }
std::int64_t HaloPeer::receive_points() const { return points_of(receive); }

IndexBox padded(const IndexBox& box, const HaloShape& shape) {
  if (box.is_empty()) return {};
  IndexBox all = box;
  for (std::size_t d = 0; d < 3; ++d) {
    all.lower[d] -= shape.reach[0][d];
    all.upper[d] += shape.reach[1][d];
  }
  return all;
}

std::vector<HaloStage> plan_halo(const GridLayout& layout, const HaloShape& shape, int rank, bool by_direction) {
  std::vector<std::map<int, HaloPeer>> stages(by_direction ? 3 : 1);
  std::vector<IndexBox> sides(layout.boxes.size());
  for (std::size_t direction = 0; direction < 3; ++direction)
    for (const bool is_above : {false, true}) {
      if (shape.reach[is_above ? 1 : 0][direction] == 0) continue;
      for (std::size_t r = 0; r < sides.size(); ++r)
        sides[r] = side_of(layout, shape, layout.boxes[r], direction, is_above);
      const auto exchange = fft::plan_exchange(layout.shape, layout.boxes, sides, rank);
      auto& peers = stages[by_direction ? direction : 0];
      for (const auto& [peer, box, shift] : exchange.send) peers[peer].send.push_back({box, shift});
      for (const auto& [peer, box, shift] : exchange.receive) peers[peer].receive.push_back({box, shift});
    }
  std::vector<HaloStage> found;
  for (auto& peers : stages) {
    auto& stage = found.emplace_back();
    for (auto& [peer, its] : peers) {
      its.rank = peer;
      if (peer == rank)
        stage.local = std::move(its.receive);
      else
        stage.peers.push_back(std::move(its));
    }
  }
  return found;
}

}  // namespace tessera::grid
