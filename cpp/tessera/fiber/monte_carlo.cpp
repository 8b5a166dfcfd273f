#include "tessera/fiber/monte_carlo.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tessera/base/math/elementary.h"

namespace tessera::fiber {

namespace {

constexpr double share_of_nodes = 0.6, share_of_pivots = 0.03;  // of moves; the rest are crankshafts
constexpr std::size_t longest_crankshaft = 100;                 // nodes
constexpr std::size_t longest_in_focus = 12;
constexpr double share_of_regrowths = 0.5;  // of moves of tails; the rest are shifts
constexpr std::uint64_t tuned_after = 100;  // moves of a kind
constexpr double most_accepted = 0.4;
constexpr double per_radian = 20.0;  // Å that a node is shifted by at most, for a largest turn of one radian

/// Returns the point half a step after a node, or before the next.
Vec3 half_after(const Frame& exit, double length) { return exit * Vec3{0, 0, length / 2}; }
Vec3 half_before(const Frame& entry, double length) { return entry * Vec3{0, 0, -length / 2}; }

}  // namespace

MonteCarlo::MonteCarlo(Model model, std::uint64_t seed) : chain_(std::move(model)), seed_(seed) {}

void MonteCarlo::run(std::uint64_t moves, double heat, bool tune) {
  for (std::uint64_t done = 0; done < moves; ++done) {
    move(heat, tune);
    if (moving_.empty() || !std::isinf(hardness_)) continue;
    Draws draws(seed_, number_++);
    const Kind kind = draws.uniform() < share_of_regrowths ? regrowth : shift;
    move_tail(kind, 1.0, tune, draws);
  }
}

void MonteCarlo::move(double heat, bool tune) {
  Draws draws(seed_, number_++);
  const double which = draws.uniform();
  Range range;
  if (which < share_of_nodes || chain_.size() < 3)
    range = move_node(draws);
  else if (which < share_of_nodes + share_of_pivots && focus_.empty())
    range = move_end(draws);
  else
    range = move_middle(draws);
  const bool is_taken = is_accepted(range, heat, draws);
  if (is_taken) chain_.accept(range);
  count(is_taken, tune);
}

/// Counts the last move.
void MonteCarlo::count(bool is_accepted, bool tune) {
  Counted& counted = counted_[last_];
  ++counted.tried;
  if (is_accepted) ++counted.accepted;
  if (tune && counted.tried >= tuned_after) tune_size(counted);
}

void MonteCarlo::tune_size(Counted& counted) const {
  const double part = static_cast<double>(counted.accepted) / static_cast<double>(counted.tried);
  counted.size = std::min(counted.size * (part > most_accepted ? 1.2 : 1 / 1.2), std::numbers::pi);
  counted.tried = counted.accepted = 0;
}

bool MonteCarlo::is_accepted(Range range, double heat, Draws& draws) {
  const auto is_passed = [&](double energy, double at) { return math::exp(-energy / at) > draws.uniform(); };
  if (!is_passed(chain_.elastic_change(range) + chain_.anchored_change(range), heat) || !chain_.keeps_inside(range))
    return false;
  if (std::isinf(hardness_))
    return chain_.is_free(range) && is_passed(chain_.screened_change(range), tails_.empty() ? heat : 1.0);
  return hardness_ == 0 || is_passed(hardness_ * chain_.overlap_change(range), heat);
}

/// Turns a node about an axis through its origin and shifts it.
Range MonteCarlo::move_node(Draws& draws) {
  const std::size_t node = focus_.empty() ? draws.below(chain_.size()) : focus_[draws.below(focus_.size())];
  last_ = chain_.extent(node) > 2 * chain_.model().diameter ? core : bead;
  const double size = counted_[last_].size, reach = chain_.model().reach;
  const double furthest = std::min(per_radian * size, reach / 2);
  const double angle = std::min(size, reach / (2 * chain_.extent(node) + 1));
  const Frame& old = chain_.frame(node);
  const Vec3 away = {draws.within(furthest), draws.within(furthest), draws.within(furthest)};
  const Vec3 axis = draws.direction();
  chain_.try_at(node, {old.origin + away, turn(axis, draws.within(angle)) * old.rotation});
  return {node, node + 1};
}

/// Turns the nodes on one side of a step about a point within it, which the other side has.
Range MonteCarlo::move_end(Draws& draws) {
  last_ = pivot;
  const std::size_t n = chain_.size(), count = draws.by_logarithm(n / 2);
  const bool is_first = draws.uniform() < 0.5;
  const Range range = is_first ? Range{0, count} : Range{n - count, n};
  const std::size_t at = is_first ? count - 1 : n - count - 1;
  const double length = chain_.model().steps[at].springs.length;
  const Vec3 point = is_first ? half_before(chain_.entry_of(at), length) : half_after(chain_.exit_of(at), length);
  double arm = 0;
  for (std::size_t node = range.first; node < range.last; ++node)
    arm = std::max(arm, norm(chain_.frame(node).origin - point) + chain_.extent(node));
  turn_all(range, point, draws.direction(), arm, pivot, draws);
  return range;
}

/// Turns nodes in a row about the line through points within the steps at both ends, which the others have.
Range MonteCarlo::move_middle(Draws& draws) {
  last_ = crankshaft;
  const std::size_t n = chain_.size();
  const std::size_t longest = focus_.empty() ? longest_crankshaft : longest_in_focus;
  const std::size_t count = draws.by_logarithm(std::min(longest, n - 2));
  std::size_t first = 1 + draws.below(n - 1 - count);
  if (!focus_.empty()) {  // about a node
    const std::size_t node = focus_[draws.below(focus_.size())], before = draws.below(count);
    first = std::clamp(node - std::min(before, node), std::size_t{1}, n - 1 - count);
  }
  const Range range = {first, first + count};
  const auto& steps = chain_.model().steps;
  const Vec3 point = half_after(chain_.exit_of(first - 1), steps[first - 1].springs.length);
  const Vec3 other = half_before(chain_.entry_of(range.last - 1), steps[range.last - 1].springs.length);
  const double size = norm(other - point);
  const Vec3 axis = size > 1e-6 ? (1 / size) * (other - point) : Vec3{0, 0, 1};
  double arm = 0;
  for (std::size_t node = range.first; node < range.last; ++node) {
    const Vec3 away = chain_.frame(node).origin - point;
    arm = std::max(arm, norm(away - dot(away, axis) * axis) + chain_.extent(node));
  }
  turn_all(range, point, axis, arm, crankshaft, draws);
  return range;
}

/// Turns nodes on trial by an angle by which none of them moves further than the model's reach. The arm is the same
/// after the turn, so that the way back is as likely.
void MonteCarlo::turn_all(Range range, const Vec3& point, const Vec3& axis, double arm, Kind kind, Draws& draws) {
  const double angle = draws.within(std::min(counted_[kind].size, chain_.model().reach / arm));
  const Rotation rotation = turn(axis, angle);
  for (std::size_t node = range.first; node < range.last; ++node)
    chain_.try_at(node, turned_about(point, rotation, chain_.frame(node)));
}

}  // namespace tessera::fiber
