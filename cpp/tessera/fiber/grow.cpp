// The first places of a chain: piece by piece, drawn from the springs, where there is room.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/fiber/monte_carlo.h"

namespace tessera::fiber {

namespace {

constexpr int draws_of_piece = 32;     // of which the nearest to a target is taken
constexpr int foreseen = 4;            // nodes of a kind whose middle should be near a target
constexpr double wider = 2.0;          // than by the temperature: more ways to go, from which sampling cools
constexpr int more_draws = 4;          // times as many, until one has room
constexpr std::size_t attempts = 300;  // pieces without room before it is given up, and two more for each piece

/// Returns the place of a step's second frame as the first sees it, drawn from its springs.
Frame drawn(const Springs& springs, Draws& draws) {
  const auto spread = [&](double spring) { return wider * draws.normal() / std::sqrt(spring); };
  std::array<double, 6> parameters{};
  parameters[0] = spread(springs.across);
  parameters[1] = spread(springs.across);
  parameters[2] = springs.length + spread(springs.along);
  parameters[3] = spread(springs.bend);
  parameters[4] = spread(springs.bend);
  parameters[5] = spread(springs.twist);
  return step_frame(parameters);
}

}  // namespace

bool MonteCarlo::grow(std::span<const std::size_t> ends, std::span<const Vec3> targets) {
  const auto piece = [&](std::size_t at) { return Range{at == 0 ? 0 : ends[at - 1] + 1, ends[at] + 1}; };
  start_ = targets.empty() ? Vec3{} : targets[0];
  std::size_t at = 0, furthest = 0, back = 1, left = attempts + 2 * ends.size();
  while (at < ends.size()) {
    if (grow_piece(piece(at), targets.empty() ? nullptr : &targets[at])) {
      if (++at > furthest) furthest = at, back = 1;
      continue;
    }
    if (left-- == 0) return false;
    // More is taken back each time, so that a dead end of any length is left.
    for (std::size_t i = 0; i < back && at > 0; ++i) {
      const Range gone = piece(--at);
      for (std::size_t node = gone.first; node < gone.last; ++node) chain_.remove(node);
    }
    back = std::min(back + 1, ends.size());
  }
  return true;
}

/// Returns the middle of a node and of the next few of its kind, if all steps were at rest: which way a chain leaves a
/// node decides where it can go.
Vec3 MonteCarlo::ahead(std::size_t node) const {
  const Model& model = chain_.model();
  Frame frame = chain_.frame(node);
  Vec3 sum = frame.origin;
  int count = 1;
  for (std::size_t at = node; at < model.steps.size() && count < foreseen; ++at) {
    const Step& step = model.steps[at];
    frame = frame * step.exit * Frame{{0, 0, step.springs.length}, {}} * inverse(step.entry);
    if (model.kind[at + 1] == model.kind[node]) sum += frame.origin, ++count;
  }
  return (1.0 / count) * sum;
}

/// Puts the nodes of a piece where they have room. Returns false if none of many draws had any.
bool MonteCarlo::grow_piece(Range piece, const Vec3* target) {
  std::vector<Frame> best;
  double nearest = std::numeric_limits<double>::infinity();
  for (int drawn_pieces = 0; drawn_pieces < more_draws * draws_of_piece; ++drawn_pieces) {
    if (!best.empty() && (target == nullptr || drawn_pieces >= draws_of_piece)) break;
    Draws draws(seed_, number_++);
    if (draw_piece(piece, draws)) {
      const double away = target == nullptr ? 0 : norm(ahead(piece.last - 1) - *target);
      if (best.empty() || away < nearest) {
        nearest = away;
        best.clear();
        for (std::size_t node = piece.first; node < piece.last; ++node) best.push_back(chain_.frame(node));
      }
    }
    for (std::size_t node = piece.first; node < piece.last; ++node) chain_.remove(node);
  }
  for (std::size_t i = 0; i < best.size(); ++i) chain_.place(piece.first + i, best[i]);
  return !best.empty();
}

/// Puts the nodes of a piece at drawn places. Returns false if one of them has no room.
bool MonteCarlo::draw_piece(Range piece, Draws& draws) {
  for (std::size_t node = piece.first; node < piece.last; ++node)
    if (!draw_node(node, draws)) return false;
  return true;
}

bool MonteCarlo::draw_node(std::size_t node, Draws& draws) {
  if (node == 0) {
    const Vec3 axis = draws.direction();
    chain_.try_at(0, {start_, turn(axis, draws.within(3.141592653589793))});
  } else {
    const Step& step = chain_.model().steps[node - 1];
    chain_.try_at(node, chain_.exit_of(node - 1) * drawn(step.springs, draws) * inverse(step.entry));
  }
  const Range range = {node, node + 1};
  if (!chain_.is_inside(node) || !chain_.is_free(range)) return false;
  chain_.accept(range);
  return true;
}

}  // namespace tessera::fiber
