// Builds small systems in code for the tests of md, and computes forces by definition: all pairs in double precision.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/pair/potentials/short_range.h"
#include "tessera/model/system.h"

namespace tessera::md::test {

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Returns a molecule of one residue whose atoms form one hydrogen group around the first.
inline model::Template molecule(const std::string& name, std::vector<std::string> atoms, std::vector<std::int32_t> type,
                                std::vector<double> charge, std::vector<double> mass) {
  model::Template t;
  t.name = name;
  t.atom_name = std::move(atoms);
  t.type = std::move(type);
  t.charge = std::move(charge);
  t.mass = std::move(mass);
  t.atomic_number.assign(t.type.size(), 1);
  t.residue.assign(t.type.size(), 0);
  t.residue_name = {name};
  t.segment_name = {"T"};
  t.residue_number = {1};
  t.group.assign(t.type.size(), 0);
  return t;
}

inline void exclude_all(model::Template& t) {
  for (std::int32_t j = 0; j < t.n_atoms(); ++j)
    for (std::int32_t i = 0; i < j; ++i) t.exclusions.push_back({i, j});
}

struct Sample {
  model::System system;
  std::vector<Particle> particles;  // by id
};

/// Returns the sample as the snapshot that a run starts from.
inline Snapshot snapshot_of(const Sample& sample, std::int64_t step = 0, std::int64_t last_search = 0) {
  Snapshot snapshot;
  snapshot.box = snapshot.search_box = sample.system.box;
  snapshot.step = step;
  snapshot.last_search = last_search;
  snapshot.atoms = sample.particles;
  return snapshot;
}

/// Returns a state without atoms in the sample's box.
inline State state_in(const Box& box) {
  State state;
  state.box = state.search_box = box;
  return state;
}

inline Vec3 random_direction(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const Vec3 v = {normal(random), normal(random), normal(random)};
  return (1 / norm(v)) * v;
}

struct MixtureOptions {
  Box box = orthorhombic(24, 25, 26);
  double spacing = 4.2;  // Å, between molecules
  model::LjRule rule = model::LjRule::lorentz_berthelot;
  bool with_nbfix = false;
  std::uint64_t seed = 1;
  std::vector<model::PairPotential> potentials{};  // of the types O, H, P, N
};

/// Returns bent triatomics, positive ions (so that there is a net charge) and neutral atoms, on a jittered lattice.
inline Sample make_mixture(const MixtureOptions& options) {
  Sample sample;
  auto& system = sample.system;
  system.box = options.box;
  auto& force_field = system.force_field;
  force_field.coulomb_constant = 332.0637;
  force_field.lj_rule = options.rule;
  force_field.type_name = {"O", "H", "P", "N"};
  force_field.type_lj = {{3.15, 0.152}, {0.8, 0.046}, {2.5, 0.1}, {3.5, 0.3}};
  force_field.parameters[model::bond] = {{450, 0.96}};
  if (options.with_nbfix) force_field.nbfix = {{0, 2, {250000, 400}}, {3, 3, {1500000, 900}}};
  force_field.pair_potentials = options.potentials;
  system.templates = {molecule("TRI", {"O", "H1", "H2"}, {0, 1, 1}, {-0.8, 0.4, 0.4}, {16, 1, 1}),
                      molecule("ION", {"P"}, {2}, {1}, {39}), molecule("NEU", {"N"}, {3}, {0}, {40})};
  exclude_all(system.templates[0]);
  system.templates[0].terms[model::bond] = {{{0, 1}, {0, 2}}, {0, 0}};

  std::mt19937_64 random(options.seed);
  std::uniform_real_distribution<double> jitter(-0.35, 0.35);
  std::array<std::vector<Vec3>, 3> places;  // by template
  const auto edges = options.box.edges();
  std::array<int, 3> n;
  for (std::size_t d = 0; d < 3; ++d) n[d] = static_cast<int>(edges[d] / options.spacing);
  for (int x = 0; x < n[0]; ++x)
    for (int y = 0; y < n[1]; ++y)
      for (int z = 0; z < n[2]; ++z) {
        const auto kind = random() % 10;
        places[kind < 7   ? 0
               : kind < 8 ? 1
                          : 2]
            .push_back({edges[0] * x / n[0] + jitter(random), edges[1] * y / n[1] + jitter(random),
                        edges[2] * z / n[2] + jitter(random)});
      }
  system.set_instances({{0, static_cast<std::int64_t>(places[0].size())},
                        {1, static_cast<std::int64_t>(places[1].size())},
                        {2, static_cast<std::int64_t>(places[2].size())}});
  const auto add = [&](const Vec3& r) {
    Particle p;
    p.id = static_cast<std::int64_t>(sample.particles.size());
    p.position = options.box.fraction(r);
    sample.particles.push_back(p);
  };
  for (std::size_t kind = 0; kind < 3; ++kind)
    for (const auto& centre : places[kind]) {
      add(centre);
      if (kind != 0) continue;
      const Vec3 u = random_direction(random);
      Vec3 v = random_direction(random);
      v -= dot(u, v) * u;
      v *= 1 / norm(v);
      add(centre + 0.96 * u);
      add(centre + 0.96 * (-0.25 * u + 0.968 * v));
    }
  return sample;
}

/// Holds the forces by atom id and the energies of a set of positions (by id): every pair in its nearest image, by
/// definition.
struct Oracle {
  std::vector<Vec3> force;
  double lj = 0, real = 0, exclusion = 0;
  double lj_size = 0, real_size = 0, exclusion_size = 0;  // Σ |energy| over pairs, the scale of rounding errors
  std::array<double, 6> virial{};                         // xx yy zz xy xz yz
};

/// Returns settings of pairs whose cut-off fits the small boxes of tests.
inline pair::PairSettings short_range(pair::LjModifier lj, pair::Electrostatics e) {
  pair::PairSettings s;
  s.cutoff = 8;
  s.switch_distance = 6.5;
  s.lj = lj;
  s.electrostatics = e;
  s.coulomb_switch = 5;
  s.alpha = 0.39;
  s.coulomb_constant = 332.0637;
  return s;
}

inline bool is_excluded(const model::System& system, std::int64_t i, std::int64_t j) {
  const auto p = system.find(i), q = system.find(j);
  if (p.first_id != q.first_id) return false;
  for (const auto& e : system.templates[index(p.molecule)].exclusions)
    if ((e[0] == p.local && e[1] == q.local) || (e[0] == q.local && e[1] == p.local)) return true;
  return false;
}

inline Oracle all_pairs(const model::System& system, const std::vector<Fraction>& position,
                        const pair::PairSettings& settings) {
  Oracle oracle;
  const auto n = position.size();
  oracle.force.resize(n);
  std::vector<double> charge(n);
  std::vector<int> type(n);
  const pair::ShortRange short_range(system.force_field, settings);
  for (std::size_t i = 0; i < n; ++i) {
    const auto reference = system.find(static_cast<std::int64_t>(i));
    charge[i] = system.templates[index(reference.molecule)].charge[index(reference.local)];
    type[i] = system.templates[index(reference.molecule)].type[index(reference.local)];
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Vec3 d = system.box.displacement(position[j], position[i]);
      const double r2 = norm2(d);
      if (r2 >= settings.range() * settings.range()) continue;
      const double qq = settings.coulomb_constant * charge[i] * charge[j];
      double force_over_r = 0;
      if (is_excluded(system, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j))) {
        if (settings.electrostatics != pair::Electrostatics::pme) continue;
        const auto e = pair::ewald_exclusion(settings.alpha, r2);
        force_over_r = qq * e.force_over_r;
        oracle.exclusion += qq * e.energy;
        oracle.exclusion_size += std::abs(qq * e.energy);
      } else {
        const auto lj = short_range(type[i], type[j], r2);
        const auto real = pair::coulomb(settings, r2);
        force_over_r = lj.force_over_r + qq * real.force_over_r;
        oracle.lj += lj.energy;
        oracle.real += qq * real.energy;
        oracle.lj_size += std::abs(lj.energy);
        oracle.real_size += std::abs(qq * real.energy);
      }
      const Vec3 f = force_over_r * d;
      oracle.force[i] += f;
      oracle.force[j] -= f;
      const double w[6] = {d.x * f.x, d.y * f.y, d.z * f.z, d.x * f.y, d.x * f.z, d.y * f.z};
      for (std::size_t c = 0; c < 6; ++c) oracle.virial[c] += w[c];
    }
  return oracle;
}

}  // namespace tessera::md::test
