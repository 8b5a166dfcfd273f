// Properties of transform plans for any number of ranks: no MPI needed.
#include "tessera/fft/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tessera/base/error.h"

namespace tessera::fft {
namespace {

/// Random disjoint boxes that cover the mesh: repeated cuts. Some may be empty.
std::vector<IndexBox> random_bricks(const Index3& grid, int ranks, std::mt19937& random) {
  std::vector<IndexBox> boxes{{{0, 0, 0}, grid}};
  while (static_cast<int>(boxes.size()) < ranks) {
    const std::size_t i = random() % boxes.size();
    const std::size_t d = random() % 3;
    IndexBox left = boxes[i], right = boxes[i];
    left.upper[d] = right.lower[d] =
        left.lower[d] +
        static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(left.extent(static_cast<int>(d)) + 1));
    boxes[i] = left;
    boxes.push_back(right);
  }
  std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

std::vector<IndexBox> padded(std::vector<IndexBox> boxes, std::int64_t by) {
  for (auto& box : boxes)
    if (!box.is_empty())
      for (int d = 0; d < 3; ++d) box.lower[d] -= by, box.upper[d] += by;
  return boxes;
}

void expect_exact_cover(const std::vector<IndexBox>& boxes, const Index3& grid) {
  std::vector<int> owners(static_cast<std::size_t>(grid[0] * grid[1] * grid[2]));
  const IndexBox whole{{0, 0, 0}, grid};
  for (const auto& box : boxes)
    for (auto x = box.lower[0]; x < box.upper[0]; ++x)
      for (auto y = box.lower[1]; y < box.upper[1]; ++y)
        for (auto z = box.lower[2]; z < box.upper[2]; ++z) {
          ASSERT_TRUE(whole.contains({x, y, z}));
          ++owners[static_cast<std::size_t>(whole.flat({x, y, z}))];
        }
  EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), static_cast<std::ptrdiff_t>(owners.size()));
}

/// Every point of every target box comes from exactly one piece, and both sides list the same pieces.
void expect_matching(const Index3& grid, const std::vector<IndexBox>& from, const std::vector<IndexBox>& to) {
  const int ranks = static_cast<int>(from.size());
  std::vector<Exchange> exchanges;
  for (int rank = 0; rank < ranks; ++rank) exchanges.push_back(plan_exchange(grid, from, to, rank));
  const auto between = [](const std::vector<Piece>& pieces, int peer) {
    std::vector<Piece> mine;
    for (const auto& piece : pieces)
      if (piece.peer == peer) mine.push_back(piece);
    return mine;
  };
  for (int a = 0; a < ranks; ++a) {
    for (const auto& piece : exchanges[static_cast<std::size_t>(a)].send) {
      const auto out = between(exchanges[static_cast<std::size_t>(a)].send, piece.peer);
      const auto in = between(exchanges[static_cast<std::size_t>(piece.peer)].receive, a);
      ASSERT_EQ(out.size(), in.size());
      for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(out[i].box, in[i].box);
        EXPECT_EQ(out[i].shift, in[i].shift);
      }
    }
    const auto& target = to[static_cast<std::size_t>(a)];
    std::vector<int> filled(static_cast<std::size_t>(target.size()));
    for (const auto& piece : exchanges[static_cast<std::size_t>(a)].receive)
      for (auto x = piece.box.lower[0]; x < piece.box.upper[0]; ++x)
        for (auto y = piece.box.lower[1]; y < piece.box.upper[1]; ++y)
          for (auto z = piece.box.lower[2]; z < piece.box.upper[2]; ++z) {
            const Index3 arrival = {x + piece.shift[0], y + piece.shift[1], z + piece.shift[2]};
            ASSERT_TRUE(target.contains(arrival));
            ++filled[static_cast<std::size_t>(target.flat(arrival))];
          }
    EXPECT_EQ(std::count(filled.begin(), filled.end(), 1), static_cast<std::ptrdiff_t>(filled.size()));
  }
}

TEST(FftPlan, EveryPointHasOneOwnerAndMessagesMatch) {
  std::mt19937 random(7);
  for (const Index3 grid : {Index3{8, 6, 10}, Index3{5, 7, 3}, Index3{14, 9, 15}, Index3{1, 2, 12}})
    for (const auto& scheme : schemes())
      for (int ranks = 1; ranks <= 64; ranks += ranks < 12 ? 1 : 13) {
        SCOPED_TRACE(testing::Message() << scheme.name << " on " << ranks << " ranks");
        const auto bricks = random_bricks(grid, ranks, random);
        const auto plan = plan_transform(scheme.name, grid, bricks, padded(bricks, 2));
        expect_exact_cover(plan.input, grid);
        expect_exact_cover(plan.x_lines, grid);
        expect_exact_cover(plan.y_lines, plan.spectrum_grid());
        expect_exact_cover(plan.z_lines, plan.spectrum_grid());
        std::vector<IndexBox> spectra;
        for (int rank = 0; rank < ranks; ++rank) spectra.push_back(plan.x_spectrum(rank));
        expect_exact_cover(spectra, plan.spectrum_grid());
        for (const auto& box : plan.x_lines) EXPECT_TRUE(box.is_empty() || box.extent(0) == grid[0]);
        for (const auto& box : plan.y_lines) EXPECT_TRUE(box.is_empty() || box.extent(1) == grid[1]);
        for (const auto& box : plan.z_lines) EXPECT_TRUE(box.is_empty() || box.extent(2) == grid[2]);
        expect_matching(grid, plan.input, plan.x_lines);
        expect_matching(grid, spectra, plan.y_lines);
        expect_matching(grid, plan.y_lines, plan.z_lines);
        expect_matching(grid, plan.x_lines, plan.output);
      }
}

TEST(FftPlan, ProcessGridIsNearSquareAndUsesTheRanks) {
  const Index3 grid{128, 128, 128};
  for (const auto& [ranks, p, q] : {std::array<int, 3>{1, 1, 1}, {4, 2, 2}, {16, 4, 4}, {64, 8, 8}}) {
    const auto plan = plan_pencil(grid, std::vector<IndexBox>(static_cast<std::size_t>(ranks)),
                                  std::vector<IndexBox>(static_cast<std::size_t>(ranks)));
    EXPECT_EQ(plan.processes[0] * plan.processes[1], ranks);
    EXPECT_LE(std::max(plan.processes[0], plan.processes[1]), 2 * std::max(p, q));
  }
}

TEST(FftPlan, SixtyFiveThousandRanksPlanOnOneCore) {
  const Index3 grid{2048, 2048, 2048};
  constexpr std::int64_t edge[3] = {32, 32, 64};
  std::vector<IndexBox> bricks;
  for (std::int64_t rank = 0; rank < 65536; ++rank) {
    const Index3 at = {rank / (edge[1] * edge[2]), rank / edge[2] % edge[1], rank % edge[2]};
    IndexBox box;
    for (std::size_t d = 0; d < 3; ++d) {
      box.lower[d] = at[d] * 2048 / edge[d];
      box.upper[d] = (at[d] + 1) * 2048 / edge[d];
    }
    bricks.push_back(box);
  }
  const auto plan = plan_pencil(grid, bricks, padded(bricks, 4));
  const auto exchange = plan_exchange(grid, plan.y_lines, plan.z_lines, 12345);
  EXPECT_LE(exchange.send.size(), 600u);
  EXPECT_GE(plan.processes[0] * plan.processes[1], 64000);
}

TEST(FftPlan, UnknownSchemeAndEmptyMeshAreInputErrors) {
  EXPECT_THROW(plan_transform("pencils", {4, 4, 4}, {{}}, {{}}), InputError);
  EXPECT_THROW(plan_transform("pencil", {4, 0, 4}, {{}}, {{}}), InputError);
}

}  // namespace
}  // namespace tessera::fft
