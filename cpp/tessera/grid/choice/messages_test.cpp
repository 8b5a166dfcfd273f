#include "tessera/grid/choice/messages.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tessera::grid {
namespace {

/// Returns the points that a rank receives from each other one in the stages of its plan.
std::map<int, std::vector<std::int64_t>> received(const std::vector<HaloStage>& stages) {
  std::map<int, std::vector<std::int64_t>> found;
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (const auto& peer : stages[s].peers)
      if (peer.receive_points() > 0) {
        auto& its = found[peer.rank];
        its.resize(stages.size());
        its[s] = peer.receive_points();
      }
  return found;
}

TEST(HaloMessages, AreThoseOfThePlans) {
  std::mt19937 random(1);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 60; ++trial) {
    const Index3 grid{draw(1, 12), draw(1, 12), draw(1, 12)};
    const std::array<bool, 3> is_periodic{draw(0, 1) == 1, draw(0, 1) == 1, draw(0, 1) == 1};
    const auto layout = plan_layout(grid, is_periodic, static_cast<int>(draw(1, 18)));
    const HaloShape shape{{Index3{draw(0, 3), draw(0, 3), draw(0, 3)}, Index3{draw(0, 3), draw(0, 3), draw(0, 14)}},
                          draw(0, 1) == 1};
    const HaloMessages messages(layout, shape);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      std::map<int, std::vector<std::int64_t>> at_once, by_direction;
      for (const auto& message : messages.to(rank)) {
        EXPECT_EQ(message.to, rank);
        at_once[message.from] = {message.all()};
        by_direction[message.from] = {message.points.begin(), message.points.end()};
      }
      EXPECT_EQ(at_once, received(plan_halo(layout, shape, rank, false))) << trial << " " << rank;
      EXPECT_EQ(by_direction, received(plan_halo(layout, shape, rank, true))) << trial << " " << rank;
    }
  }
}

}  // namespace
}  // namespace tessera::grid
