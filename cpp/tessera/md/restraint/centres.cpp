#include "tessera/md/restraint/centres.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::md::restraint {

namespace {

/// Returns the nearest integer to a/b, b > 0; halves go up.
std::int64_t rounded_quotient(std::int64_t a, std::int64_t b) {
  const auto n = a + b / 2;
  return n / b - (n % b < 0 ? 1 : 0);
}

double mass_of(const model::System& system, std::int64_t id) {
  const auto atom = system.find(id);
  return system.templates[at(atom.molecule)].mass[at(atom.local)];
}

}  // namespace

Centres::Centres(const std::vector<CentreGroup>& groups, const domain::Domain& domain, const comm::Communicator& comm)
    : domain_(domain), comm_(comm), centre_(groups.size()) {
  for (const auto& [atoms, is_weighted_by_mass] : groups) {
    auto& group = groups_.emplace_back(Group{.atoms = atoms, .is_weighted_by_mass = is_weighted_by_mass, .own = {}});
    atoms->for_each([&](std::int64_t id) { group.mass += mass_of(domain.system(), id); });
    if (!(group.mass > 0))
      throw InputError(
          fmt::format("{} is in a group of a restraint that has virtual sites alone, without a mass: select "
                      "atoms that they follow, too",
                      domain.system().describe(atoms->ranges().front().first)));
    atoms->for_each([&](std::int64_t id) { group.total_weight += weight_of(group, id); });
  }
}

/// Returns an atom's weight, which is at least 1, so that no atom is left out.
std::int64_t Centres::weight_of(const Group& group, std::int64_t atom) const {
  if (!group.is_weighted_by_mass) return 1;
  constexpr double total = 1 << 30;
  return std::max<std::int64_t>(1, std::llrint(mass_of(domain_.system(), atom) / group.mass * total));
}

void Centres::rebuild() {
  for (auto& group : groups_) {
    group.own.clear();
    group.atoms->for_each([&](std::int64_t id) {
      if (const auto slot = domain_.slot_of(id); slot >= 0 && slot < domain_.n_owned_slots())
        group.own.push_back({slot, weight_of(group, id)});
    });
  }
}

void Centres::find_origins() {
  std::vector<std::int64_t> places(3 * groups_.size(), 0);  // each atom is on one rank: the others add zeros
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto slot = domain_.slot_of(groups_[g].atoms->ranges().front().first);
    if (slot < 0 || slot >= domain_.n_owned_slots()) continue;
    const auto& p = domain_.state().position[at(slot)];
    places[3 * g] = p.x, places[3 * g + 1] = p.y, places[3 * g + 2] = p.z;
  }
  comm_.all_reduce_sum(places);
  const auto component = [&](std::size_t i) { return static_cast<std::int32_t>(places[i]); };
  for (std::size_t g = 0; g < groups_.size(); ++g)
    centre_[g] = {component(3 * g), component(3 * g + 1), component(3 * g + 2)};
  // A centre that depends on the origin has atoms whose nearest image does.
  move_centres();
  const auto found = centre_;
  move_centres();
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (!(centre_[g] == found[g]))
      throw RunError(
          fmt::format("the group of {} atoms from {} is larger than half the box, so that a restraint finds no "
                      "centre of it: select atoms that are near each other",
                      groups_[g].atoms->size(), domain_.system().describe(groups_[g].atoms->ranges().front().first)));
  has_origins_ = true;
}

void Centres::update() {
  if (groups_.empty()) return;
  if (!domain_.system().is_periodic)
    std::fill(centre_.begin(), centre_.end(), Fraction{});  // the middle of the frame is near all atoms
  else if (!has_origins_)
    find_origins();
  move_centres();
}

void Centres::move_centres() {
  std::vector<std::int64_t> sums(3 * groups_.size(), 0);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const auto& [slot, weight] : groups_[g].own) {
      const auto apart = domain_.state().position[at(slot)] - centre_[g];
      sums[3 * g] += weight * apart.x;
      sums[3 * g + 1] += weight * apart.y;
      sums[3 * g + 2] += weight * apart.z;
    }
  comm_.all_reduce_sum(sums);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto mean = [&](std::size_t d) {
      return static_cast<std::int32_t>(rounded_quotient(sums[3 * g + d], groups_[g].total_weight));
    };
    centre_[g] = centre_[g] + Fraction{mean(0), mean(1), mean(2)};
  }
}

void Centres::add_force(std::size_t group, const Vec3& force, Accumulator& accumulator) const {
  const auto& [atoms, is_weighted_by_mass, mass, total_weight, own] = groups_[group];
  for (const auto& [slot, weight] : own)
    accumulator.add_force_alone(slot, (static_cast<double>(weight) / static_cast<double>(total_weight)) * force);
}

}  // namespace tessera::md::restraint
