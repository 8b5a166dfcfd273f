#include "tessera/md/memory/system_contents.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/units.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/pair/pair_forces.h"
#include "tessera/md/topology.h"

namespace tessera::md {

namespace {

/// Of atoms at rest or in heated systems lists are a few per cent shorter or longer.
constexpr double usual_temperature = 300;  // K

/// Estimates how many other clusters hold atoms that are excluded from the four of a cluster, where each of the four
/// has `p` excluded partners.
///
/// A cluster is a cube of edge a that holds four atoms. An atom and its partners fill a ball of p + 1 atoms, so a
/// partner is d = ¾ of that ball's radius away. It is in the same cluster with the probability (1 − d/2a)³, as the
/// displacement along an edge is d/2 on average. The others, 4p(1 − that), are spread over the clusters within d of the
/// cube, of which there are M = (1 + 2d/a)³ − 1: they meet M(1 − exp(−n/M)) of them.
double other_clusters(double p) {
  constexpr double k = domain::cluster_size;
  const double d = 0.75 * std::cbrt(3 * (p + 1) / (4 * units::pi * k));  // in units of a
  const double outside = k * p * (1 - cube(std::max(0.0, 1 - 0.5 * d)));
  const double within_reach = cube(1 + 2 * d) - 1;
  return within_reach * (1 - std::exp(-outside / within_reach));
}

/// Estimates the slots of blocks that a compact molecule of n atoms meets: of cubes of the volume of a block's atoms,
/// those that a cube of n atoms overlaps.
double slots_of_blocks(std::int64_t n) {
  const double atoms = static_cast<double>(n), block = SparseForces::block_slots;
  return n == 0 ? 0 : cube(std::cbrt(atoms) + std::cbrt(block));
}

double share_of_table_pairs(const model::System& system) {
  // With Lookup::all no entry needs parameters of its own.
  const auto lookup = pair::plan_lookup(system);
  const auto& field = system.force_field;
  if ((field.nbfix.empty() && field.pair_potentials.empty()) || lookup == pair::Lookup::all) return 0;
  const auto counts = system.type_counts();
  double pairs = 0;
  const auto add = [&](const auto& list) {
    for (const auto& pair : list) {
      const auto of = [&](int type) { return static_cast<double>(counts[static_cast<std::size_t>(type)]); };
      pairs += (pair.type_a == pair.type_b ? 1 : 2) * of(pair.type_a) * of(pair.type_b);
    }
  };
  add(field.nbfix);
  add(field.pair_potentials);
  return pairs / (static_cast<double>(system.n_atoms()) * static_cast<double>(system.n_atoms()));
}

}  // namespace

SystemContents contents_of(const model::System& system, const EngineSettings& settings) {
  const Topology topology(system, settings.constraints);
  std::vector<double> molecules(system.templates.size(), 0);
  for (const auto& run : system.instances())
    molecules[static_cast<std::size_t>(run.molecule)] += static_cast<double>(run.count);
  std::vector<bool> is_unit(system.templates.size(), false);
  for (const auto& run : system.instances())
    if (run.is_in_chain) is_unit[static_cast<std::size_t>(run.molecule)] = true;

  SystemContents sum{
      .n_atoms = system.n_atoms(),
      .template_bytes = system.bytes() + topology.index_bytes() + pair::PairForces::template_bytes(system),
      .kinds_bytes = static_cast<std::int64_t>(topology.bytes())};
  double speed = 0, speed2 = 0, mobility = 0;
  const double thermal = units::boltzmann * usual_temperature * units::acceleration;  // m·v² of one direction
  for (std::size_t m = 0; m < molecules.size(); ++m) {
    const auto& molecule = system.templates[m];
    const auto size = topology.molecule_size(m);
    sum.topology_bytes += molecules[m] * static_cast<double>(size.bytes);
    // Blocks next to a unit belong to the next units of its chain.
    sum.bonded_slots +=
        molecules[m] * (is_unit[m] ? static_cast<double>(size.bonded_atoms) : slots_of_blocks(size.bonded_atoms));
    std::vector<int> partners(molecule.type.size(), 0);
    for (const auto& pair : molecule.exclusions)
      for (const auto atom : pair)
        if (molecule.has(atom)) ++partners[static_cast<std::size_t>(atom)];
    for (std::size_t a = 0; a < partners.size(); ++a) {
      if (partners[a] > 0) {
        sum.is_excluding += molecules[m];
        sum.excluded_clusters += molecules[m] * other_clusters(partners[a]) / domain::cluster_size;
      }
      const bool is_site = molecule.mass[a] == 0;  // of a light parent's speed, about
      const double v2 = 3 * thermal / (is_site ? 1.0 : molecule.mass[a]);
      speed2 += molecules[m] * v2;
      speed += molecules[m] * std::sqrt(v2 * 8 / (3 * units::pi));
      mobility += molecules[m] * static_cast<double>(pair::mobility_of(molecule.mass[a]));
    }
  }
  const double n = std::max(1.0, static_cast<double>(sum.n_atoms));
  for (auto* mean :
       {&sum.topology_bytes, &sum.bonded_slots, &sum.is_excluding, &sum.excluded_clusters, &speed, &speed2, &mobility})
    *mean /= n;
  // What constraints hold doesn't move.
  const double free = std::max(0.0, 1 - static_cast<double>(topology.n_constraints()) / (3 * n));
  const pair::ListSettings one_ps{.steps = 1, .timestep = 1, .most_reach = 1e6};
  sum.reach_speed =
      static_cast<double>(pair::reach_of(one_ps, static_cast<float>(std::sqrt(free) * speed),
                                         static_cast<float>(std::sqrt(free * speed2)), static_cast<float>(mobility)));
  sum.table_pairs = share_of_table_pairs(system);
  return sum;
}

}  // namespace tessera::md
