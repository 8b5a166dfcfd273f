// Moves of tails: one grows again from a bead on, or a bead of it is shifted.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/math/elementary.h"
#include "tessera/fiber/monte_carlo.h"

namespace tessera::fiber {

namespace {

constexpr std::size_t trials = 8;          // draws of a bead that grows, of which one is taken
constexpr std::size_t first_places = 200;  // that are tried for a tail
constexpr double shift_per_radian = 20.0;  // Å that a bead is shifted by at most, for a size of one
constexpr double hot = 4.0;                // times the temperature, at which a tail without room bends and stretches

}  // namespace

void MonteCarlo::set_focus(std::vector<std::size_t> nodes) {
  focus_ = std::move(nodes);
  moving_.clear();
  for (const TailId id : tails_)
    if (focus_.empty() || std::ranges::find(focus_, id.node) != focus_.end()) moving_.push_back(id);
}

std::size_t MonteCarlo::grow_tails() {
  std::size_t without = 0;
  tails_.clear();
  for (std::size_t node = 0; node < chain_.size(); ++node)
    for (std::size_t tail = 0; tail < chain_.tails(node); ++tail) {
      const TailId id = {node, tail};
      if (chain_.beads(id).empty() && !grow_tail(id)) {
        ++without;
        continue;
      }
      if (chain_.tail(id).size() > 1) tails_.push_back(id);
    }
  set_focus(std::move(focus_));
  return without;
}

/// Puts a tail where it has room. Returns false if many attempts found none.
bool MonteCarlo::grow_tail(TailId id) {
  if (!chain_.has_room(id, chain_.around(id))) return false;
  for (std::size_t attempt = 0; attempt < first_places; ++attempt) {
    Draws draws(seed_, number_++);
    Growing tail = growing(id);
    tail.beads.resize(1);
    const double heat = attempt < first_places / 2 ? 1.0 : hot;
    if (!(grow_on(tail, 1, {}, heat, draws) > 0)) continue;
    chain_.set_tail(id, tail.beads);
    return true;
  }
  return false;
}

void MonteCarlo::run_tails(Kind kind, std::uint64_t moves, double heat, bool tune) {
  for (std::uint64_t done = 0; done < moves && !moving_.empty(); ++done) {
    Draws draws(seed_, number_++);
    move_tail(kind, heat, tune, draws);
  }
}

void MonteCarlo::move_tail(Kind kind, double heat, bool tune, Draws& draws) {
  const TailId id = moving_[draws.below(moving_.size())];
  last_ = kind;
  if (kind == regrowth)
    count(regrow(id, heat, draws), false);  // it has no size
  else
    count(shift_bead(id, heat, draws), tune);
}

MonteCarlo::Growing MonteCarlo::growing(TailId id) const {
  const auto beads = chain_.beads(id);
  Growing tail = {id, chain_.around(id), {beads.begin(), beads.end()}};
  if (beads.empty()) tail.beads = {chain_.root(id)};
  return tail;
}

/// Returns the energy of a bead of a tail at a place, beside all else and beside the first so many of its own tail that no
/// bond joins to it.
double MonteCarlo::energy_of(const Growing& tail, const Vec3& place, std::size_t at, std::size_t beads) const {
  const std::vector<double>& charges = chain_.tail(tail.id).charges;
  double energy = chain_.energy_at(place, at, tail.id, tail.around);
  for (std::size_t other = 0; other < beads && !std::isinf(energy); ++other)
    if (other + 1 < at || at + 1 < other)
      energy += chain_.energy_of_beads(place, charges[at], tail.beads[other], charges[other]);
  return energy;
}

/// Builds a tail from a bead on: through beads that are taken, each among draws beside it, or where one of the draws leads.
/// Returns the product of the mean weights of draws, 0 where none has room.
double MonteCarlo::grow_on(Growing& tail, std::size_t first, std::span<const Vec3> taken, double heat,
                           Draws& draws) const {
  const Tail& kind = chain_.tail(tail.id);
  std::array<Vec3, trials> place;
  std::array<double, trials> weight{};
  double product = 1;
  tail.beads.resize(first);
  for (std::size_t at = first; at < kind.size(); ++at) {
    double sum = 0;
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const bool is_taken = trial == 0 && !taken.empty();
      place[trial] = is_taken ? taken[at] : drawn_bead(kind.springs, tail.beads, heat, draws);
      weight[trial] = math::exp(-energy_of(tail, place[trial], at, at) / heat);
      sum += weight[trial];
    }
    if (!(sum > 0)) return 0;
    product *= sum / trials;
    std::size_t chosen = 0;
    if (taken.empty())
      for (double left = draws.uniform() * sum - weight[0]; left >= 0 && chosen + 1 < trials; left -= weight[chosen])
        ++chosen;
    tail.beads.push_back(place[chosen]);
  }
  return product;
}

bool MonteCarlo::regrow(TailId id, double heat, Draws& draws) {
  Growing tail = growing(id);
  const std::vector<Vec3> old = tail.beads;
  const std::size_t first = 1 + draws.below(old.size() - 1);
  chain_.hide_tail(id);
  const double before = grow_on(tail, first, old, heat, draws), after = grow_on(tail, first, {}, heat, draws);
  chain_.show_tail(id);
  if (!(after > draws.uniform() * before)) return false;
  chain_.set_tail(id, tail.beads);
  return true;
}

bool MonteCarlo::shift_bead(TailId id, double heat, Draws& draws) {
  Growing tail = growing(id);
  const std::size_t n = tail.beads.size(), moved = 1 + draws.below(n - 1);
  const TailSprings& springs = chain_.tail(id).springs;
  const double size = shift_per_radian * counted_[shift].size;
  const Vec3 old = tail.beads[moved];
  const auto is_passed = [&](double energy) { return math::exp(-energy / heat) > draws.uniform(); };
  const double elastic = elastic_energy(springs, tail.beads, moved, moved + 1);
  tail.beads[moved] += Vec3{draws.within(size), draws.within(size), draws.within(size)};
  if (!is_passed(elastic_energy(springs, tail.beads, moved, moved + 1) - elastic)) return false;
  chain_.hide_tail(id);
  const double after = energy_of(tail, tail.beads[moved], moved, n);
  const double before = std::isinf(after) ? 0 : energy_of(tail, old, moved, n);
  chain_.show_tail(id);
  if (!is_passed(after - before)) return false;
  chain_.set_tail(id, tail.beads);
  return true;
}

}  // namespace tessera::fiber
