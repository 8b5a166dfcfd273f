// What tails do in a chain: where their beads are, and what these see.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/fiber/chain.h"

namespace tessera::fiber {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

constexpr auto never = [](std::size_t, double) { return false; };

}  // namespace

void Chain::set_tail(TailId id, std::span<const Vec3> places) {
  const Frame back = inverse(now_.frame[id.node]);
  std::vector<Vec3> local = {tail(id).place};
  for (std::size_t i = 1; i < places.size(); ++i) local.push_back(back * places[i]);
  fiber::set_tail(beads_[id.node], id.tail, local);
  now_.beads.place(id.node, beads_[id.node], now_.frame[id.node]);
}

/// Returns whether beads of a node on trial and spheres or beads of another one where it is overlap, or the other way
/// round.
bool Chain::do_tails_overlap(std::size_t one, std::size_t other) const {
  if (!has_tails(one) && !has_tails(other)) return false;
  const std::size_t parts = are_neighbours(one, other) ? 1 : 0;  // of nodes, which first beads are
  const Placed a = beads_of(trial_, one), b = beads_of(now_, other);
  return meet(a, spheres_of(now_, other), between(), parts) || meet(b, spheres_of(trial_, one), between(), parts) ||
         meet(a, b, model_.bead_diameter);
}

/// Returns the energy of the beads of two nodes beside each other, and of those of each beside the charges of the other.
double Chain::energy_of_tails(const Places& places, std::size_t one, std::size_t other) const {
  const std::size_t parts = are_neighbours(one, other) ? 1 : 0;
  const Placed a = beads_of(places, one), b = beads_of(now_, other);
  return energy_between(a, charges_of(now_, other), parts) + energy_between(b, charges_of(places, one), parts) +
         energy_between(a, b, 0);
}

std::vector<std::size_t> Chain::around(TailId id) const {
  const Vec3 at = now_.frame[id.node].origin;
  const double reach = tail(id).reach() + std::max({model_.screened.cutoff(), between(), model_.bead_diameter});
  std::vector<std::size_t> found;
  all_near(id.node, at, [&](std::size_t other) {
    const double extent = std::max({spheres_[kind(other)].extent, charges_[kind(other)].extent, beads_[other].extent});
    if (norm2(now_.frame[other].origin - at) < square(reach + extent)) found.push_back(other);
    return true;
  });
  return found;
}

bool Chain::has_room(TailId id, std::span<const std::size_t> around) const {
  const Vec3 place = root(id);
  if (norm(place) > radius_ - model_.bead_diameter / 2) return false;
  for (const std::size_t node : around) {
    if (!are_neighbours(node, id.node) && !fiber::all_near(place, spheres_of(now_, node), between(), never))
      return false;
    const Placed beads = beads_of(now_, node);
    const auto is_fixed = [&](std::size_t i, double) {
      return node == id.node && std::ranges::any_of(beads.cloud.groups, [&](const Group& g) { return g.first == i; });
    };
    if (!fiber::all_near(place, beads, model_.bead_diameter, is_fixed)) return false;
  }
  return true;
}

double Chain::energy_at(const Vec3& place, std::size_t bead, TailId id, std::span<const std::size_t> around) const {
  const Tail& own = tail(id);
  if (norm(place) > radius_ - model_.bead_diameter / 2) return infinite;
  if (norm2(place - now_.frame[id.node].origin) > square(own.reach())) return infinite;
  for (const std::size_t node : around)
    if (!fiber::all_near(place, spheres_of(now_, node), between(), never) ||
        !fiber::all_near(place, beads_of(now_, node), model_.bead_diameter, never))
      return infinite;
  double potential = 0;
  const double charge = own.charges[bead], cutoff = model_.screened.cutoff();
  if (charge == 0) return 0;
  for (const std::size_t node : around)
    for (const Placed& body : {charges_of(now_, node), beads_of(now_, node)})
      fiber::all_near(place, body, cutoff, [&](std::size_t i, double r2) {
        potential += body.cloud.values[i] * model_.screened(r2);
        return true;
      });
  return charge * potential;
}

double Chain::energy_of_beads(const Vec3& a, double charge, const Vec3& b, double other) const {
  const double r2 = norm2(a - b);
  if (r2 < square(model_.bead_diameter)) return infinite;
  return r2 < square(model_.screened.cutoff()) ? charge * other * model_.screened(r2) : 0;
}

/// Returns the energy of a node's tails beside each other and beside its own charges.
double Chain::energy_within(std::size_t node) const {
  const Placed beads = beads_of(now_, node);
  double sum = energy_between(beads, charges_of(now_, node), 1);
  for (std::size_t one = 0; one < beads.cloud.groups.size(); ++one)
    for (std::size_t other = 0; other <= one; ++other) sum += energy_of_groups(beads, one, other);
  return sum;
}

/// Returns the energy of the beads of two tails of a node, or of one that no bond joins. First beads, which are parts of
/// the node, do not see each other.
double Chain::energy_of_groups(const Placed& beads, std::size_t one, std::size_t other) const {
  const Group &a = beads.cloud.groups[one], &b = beads.cloud.groups[other];
  double sum = 0;
  for (std::size_t i = a.first; i < a.last; ++i)
    for (std::size_t j = b.first; j < b.last; ++j) {
      const bool is_seen = one == other ? j + 1 < i : i > a.first || j > b.first;
      const double r2 = norm2(beads.points[i] - beads.points[j]);
      if (is_seen && r2 < square(model_.screened.cutoff()))
        sum += beads.cloud.values[i] * beads.cloud.values[j] * model_.screened(r2);
    }
  return sum;
}

}  // namespace tessera::fiber
