#include "tessera/md/virtual_site/site_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/base/math/elementary.h"
#include "tessera/md/virtual_site/formulas.h"

namespace tessera::md::virtual_site {

namespace {

/// Å: cells are at least this much wider for a group that extends so far, so more would cost every pair of the system.
constexpr double most_radius = 6;

using Neighbours = std::vector<std::map<std::int32_t, double>>;  // atoms at a known distance, by atom

/// Adds springs between atoms without a bond (GROMACS' function 6, Urey and Bradley's), each with the length to which a
/// motion may stretch it: these may be soft.
void add_springs(const model::ForceField& field, const model::Template& molecule, Neighbours& neighbours) {
  constexpr double energy = 8;  // kcal/mol: more than twelve times the thermal energy
  const auto& springs = molecule.terms[model::urey_bradley];
  for (std::size_t t = 0; t < springs.atoms.size(); ++t) {
    const auto& [i, j] = springs.atoms[t];
    const auto& [k, length] = field.parameters[model::urey_bradley][at(springs.parameter[t])];
    if (!molecule.has(i) || !molecule.has(j) || !(k > 0)) continue;
    const double longest = length + std::sqrt(energy / k);
    neighbours[at(i)].emplace(j, longest);
    neighbours[at(j)].emplace(i, longest);
  }
}

Neighbours bonded_neighbours(const model::ForceField& field, const model::Template& molecule) {
  Neighbours neighbours(at(molecule.n_atoms()));
  model::for_each_kind_of_bond([&](auto kind) {
    const auto& bonds = molecule.terms[kind];
    for (std::size_t t = 0; t < bonds.atoms.size(); ++t) {
      const auto& [i, j] = bonds.atoms[t];
      if (!molecule.has(i) || !molecule.has(j)) continue;  // sites and their parents are in one unit of a chain
      const double length = field.parameters[kind][at(bonds.parameter[t])].r0;
      neighbours[at(i)].emplace(j, length);
      neighbours[at(j)].emplace(i, length);
    }
  });
  return neighbours;
}

/// Returns the atoms that bonds join, and those at the ends of two bonds with a stiff angle between them, which are
/// nearer than along the bonds: else a ring would count as if it might be stretched to a line.
Neighbours neighbours_of(const model::ForceField& field, const model::Template& molecule, bool with_springs) {
  constexpr double stiff = 10;  // kcal/mol/rad²: a distance across changes as little as a tenth, which cells allow for
  auto bonded = bonded_neighbours(field, molecule);
  if (with_springs) add_springs(field, molecule, bonded);
  auto neighbours = bonded;
  const auto add = [&](auto kind, auto&& stiffness) {
    const auto& angles = molecule.terms[kind];
    for (std::size_t t = 0; t < angles.atoms.size(); ++t) {
      const auto& [i, j, k] = angles.atoms[t];
      const auto& angle = field.parameters[kind][at(angles.parameter[t])];
      if (!molecule.has(i) || !molecule.has(j) || !molecule.has(k) || !(stiffness(angle) >= stiff)) continue;
      const auto first = bonded[at(j)].find(i), second = bonded[at(j)].find(k);
      if (first == bonded[at(j)].end() || second == bonded[at(j)].end()) continue;
      const double a = first->second, b = second->second;
      const double across = std::sqrt(a * a + b * b - 2 * a * b * math::cos(angle.theta0));
      neighbours[at(i)].emplace(k, across);
      neighbours[at(k)].emplace(i, across);
    }
  };
  add(model::angle, [](const model::AngleParameter& angle) { return angle.k; });
  add(model::angle_cosine, [](const model::AngleParameter& angle) {
    return angle.k * (1 - math::cos(angle.theta0) * math::cos(angle.theta0));
  });
  return neighbours;
}

/// Returns the length of the shortest path from one atom to each that is not much further than `most_radius`.
std::map<std::int32_t, double> distances_from(std::int32_t atom, const Neighbours& neighbours) {
  std::map<std::int32_t, double> found;
  std::set<std::pair<double, std::int32_t>> waiting = {{0, atom}};
  while (!waiting.empty()) {
    const auto [distance, here] = *waiting.begin();
    waiting.erase(waiting.begin());
    if (distance > 2 * most_radius || !found.emplace(here, distance).second) continue;
    for (const auto& [other, length] : neighbours[at(here)]) waiting.emplace(distance + length, other);
  }
  return found;
}

/// Returns whether distances are known to all atoms that the sites of a group follow.
bool leads_to_parents(const model::Template& molecule, std::int32_t key,
                      const std::map<std::int32_t, double>& distance) {
  for (const auto& site : molecule.virtual_sites)
    for (const auto& parent : site.parents)
      if (molecule.group[at(site.atom)] == key && !distance.contains(parent.atom)) return false;
  return true;
}

/// Returns the greatest distance of a site from the key, where its parents are within these distances from it.
double furthest(const model::VirtualSite& site, const std::map<std::int32_t, double>& distance) {
  double origin = 0, x = 0, y = 0;
  for (const auto& parent : site.parents) {
    const double d = distance.at(parent.atom);
    origin += std::abs(parent.origin) * d;
    x += std::abs(parent.x) * d;
    y += std::abs(parent.y) * d;
  }
  const auto& [p1, p2, p3] = site.position;
  if (site.frame == model::SiteFrame::none) return origin;
  if (site.frame == model::SiteFrame::plain) return origin + std::abs(p1) * x + std::abs(p2) * y + std::abs(p3) * x * y;
  return origin + std::sqrt(p1 * p1 + p2 * p2 + p3 * p3);
}

/// Returns the distance of a site of a rigid water from its oxygen.
double distance_in_water(const model::Template& molecule, const model::VirtualSite& site) {
  const double half = 0.5 * molecule.water_hh;
  const double height = std::sqrt(molecule.water_oh * molecule.water_oh - half * half);
  const std::array<Vec3, 3> water = {Vec3{}, {half, height, 0}, {-half, height, 0}};
  bool is_determined = true;
  return norm(place(site, water, is_determined));
}

std::string name_of(const model::Template& molecule, std::int32_t atom) {
  return fmt::format("{} {}", molecule.residue_name[at(molecule.residue[at(atom)])], molecule.atom_name[at(atom)]);
}

}  // namespace

std::vector<SiteGroup> site_groups(const model::Template& molecule) {
  std::map<std::int32_t, std::set<std::int32_t>> parents_of;  // by key atom of the hydrogen group
  for (const auto& site : molecule.virtual_sites)
    for (const auto& parent : site.parents) parents_of[molecule.group[at(site.atom)]].insert(parent.atom);
  std::vector<SiteGroup> groups;
  for (const auto& [key, parents] : parents_of) {
    auto& group = groups.emplace_back(SiteGroup{{parents.begin(), parents.end()}, {}});
    for (auto site : molecule.virtual_sites) {
      if (molecule.group[at(site.atom)] != key) continue;
      group.atoms.push_back(site.atom);
      site.atom = static_cast<std::int32_t>(group.atoms.size()) - 1;
      for (auto& parent : site.parents)
        parent.atom = static_cast<std::int32_t>(std::distance(parents.begin(), parents.find(parent.atom)));
      group.sites.push_back(std::move(site));
    }
  }
  return groups;
}

Reach site_group_reach(const model::System& system) {
  Reach greatest;
  for (const auto& molecule : system.templates) {
    if (molecule.virtual_sites.empty()) continue;
    const auto neighbours = neighbours_of(system.force_field, molecule, false);
    std::optional<Neighbours> with_springs;                            // where bonds alone do not lead to all parents
    std::map<std::int32_t, std::map<std::int32_t, double>> distances;  // by key atom
    for (const auto& site : molecule.virtual_sites) {
      const auto key = molecule.group[at(site.atom)];
      const auto take = [&](double distance) {
        if (distance > greatest.distance) greatest = {distance, name_of(molecule, site.atom)};
      };
      const auto last = std::max_element(site.parents.begin(), site.parents.end(),
                                         [](const auto& p, const auto& q) { return p.atom < q.atom; });
      if (molecule.rigid_water && key == 0 && last->atom < 3) {
        take(std::max(molecule.water_oh, distance_in_water(molecule, site)));
        continue;
      }
      if (!distances.contains(key)) {
        auto& distance = distances[key] = distances_from(key, neighbours);
        if (!leads_to_parents(molecule, key, distance)) {
          if (!with_springs) with_springs = neighbours_of(system.force_field, molecule, true);
          distance = distances_from(key, *with_springs);
        }
        // Hydrogens and other atoms that share the group count, too.
        for (std::int32_t a = 0; a < molecule.n_atoms(); ++a)
          if (molecule.group[at(a)] == key && !molecule.is_virtual_site(a) && distance.contains(a)) take(distance[a]);
      }
      const auto& distance = distances[key];
      for (const auto& parent : site.parents)
        if (!distance.contains(parent.atom))
          throw InputError(fmt::format(
              "no bonds join {} and {} within a few Å, so nothing keeps them near each other and the virtual "
              "site {}: join its parents by bonds with a force, springs (GROMACS' functions 1, 2 and 6) or "
              "constraints; a bond without a force (function 5) only leaves out pairs",
              name_of(molecule, key), name_of(molecule, parent.atom), name_of(molecule, site.atom)));
      const double reach = furthest(site, distance);
      if (reach > most_radius)
        throw InputError(
            fmt::format("the virtual site {} may be {:.1f} Å from {}, by the lengths of bonds and of springs that "
                        "motion stretches; at most {} Å are supported, as a "
                        "site and its parents stay in one cell",
                        name_of(molecule, site.atom), reach, name_of(molecule, key), most_radius));
      take(reach);
    }
    if (greatest.distance > most_radius)
      throw InputError(
          fmt::format("the parents of virtual sites of {} are up to {:.1f} Å apart, by the lengths of bonds and of "
                      "springs that motion stretches, at {}; at most {} "
                      "Å are supported, as a site and its parents stay in one cell",
                      molecule.name, greatest.distance, greatest.of, most_radius));
  }
  return greatest;
}

}  // namespace tessera::md::virtual_site
