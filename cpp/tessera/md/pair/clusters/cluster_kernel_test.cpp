// Compares the sums over pairs of clusters, in both precisions, with all pairs by definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/md/pair/pair_forces.h"
#include "tessera/md/test_support/systems.h"
#include "tessera/md/topology.h"

namespace tessera::md::pair {
namespace {

using test::index, test::short_range;

struct Found {
  std::vector<std::int64_t> force;  // by atom id, x y z, force_unit
  std::int64_t padding = 0;         // Σ |force| on padding
  EnergyVirial energies;
  std::vector<Fraction> position;  // by atom id

  Vec3 force_on(std::size_t id) const {
    return {from_fixed(force[3 * id], force_unit), from_fixed(force[3 * id + 1], force_unit),
            from_fixed(force[3 * id + 2], force_unit)};
  }
  double operator[](Term t) const { return energies[t]; }
  friend bool operator==(const Found& a, const Found& b) {
    return a.force == b.force && a.energies.energy == b.energies.energy && a.energies.virial == b.energies.virial;
  }
};

struct Options {
  Precision precision = Precision::mixed;
  int threads = 1;
  bool with_energies = true;
  double buffer = 1.5;
  double reach = 0.5;  // of each atom, in units of the buffer
  double moved = 0;    // Å, of each atom after the search, in a direction of its own
};

/// This velocity is so high that every atom gets the greatest reach, half the buffer.
constexpr Velocity fast = {1 << 30, 0, 0};

Found compute(const test::Sample& sample, const PairSettings& settings, const Options& options) {
  ThreadPool threads(options.threads);
  const auto comm = comm::Communicator::world();
  const double range = settings.range() + options.buffer;
  const auto grid =
      domain::plan_cell_grid(sample.system.box, {.list_range = range, .group_radius = group_radius(sample.system)});
  auto state = test::state_in(sample.system.box);
  domain::Domain domain(sample.system, domain::plan_decomposition(grid, 1), state, comm, threads);
  auto particles = sample.particles;
  for (auto& particle : particles) particle.velocity = fast;
  domain.distribute({particles, {}});
  PairForces forces(domain, settings, {.most_reach = options.reach * options.buffer}, options.precision, threads);
  forces.rebuild();
  forces.update(false);
  std::mt19937_64 random(99);
  std::vector<Vec3> move;
  for (std::int64_t id = 0; id < sample.system.n_atoms(); ++id)
    move.push_back(options.moved * test::random_direction(random));
  for (std::int32_t s = 0; s < domain.n_slots(); ++s)
    if (!domain.is_padding(s))
      state.position[index(s)] =
          domain.state().position[index(s)] + sample.system.box.fraction(move[index(domain.state().id[index(s)])]);
  forces.update(false);
  EXPECT_EQ(forces.n_lists(), options.moved > 0.5 * options.buffer ? 2 : 1);

  std::vector<std::vector<std::int64_t>> force(index(options.threads),
                                               std::vector<std::int64_t>(3 * index(domain.n_slots())));
  std::vector<EnergyVirial> energies(index(options.threads));
  std::vector<Accumulator> accumulators;
  for (std::size_t t = 0; t < force.size(); ++t)
    accumulators.push_back({force[t], options.with_energies ? &energies[t] : nullptr});
  forces.add_forces(accumulators);

  Found found;
  found.force.resize(3 * index(sample.system.n_atoms()));
  found.position.resize(index(sample.system.n_atoms()));
  for (std::size_t t = 0; t < force.size(); ++t) {
    found.energies.merge(energies[t]);
    for (std::int32_t s = 0; s < domain.n_slots(); ++s)
      for (std::size_t d = 0; d < 3; ++d) {
        const auto f = force[t][3 * index(s) + d];
        if (domain.is_padding(s))
          found.padding += std::abs(f);
        else
          add_fixed(found.force[3 * index(domain.state().id[index(s)]) + d], f);
      }
  }
  for (std::int32_t s = 0; s < domain.n_slots(); ++s)
    if (!domain.is_padding(s)) found.position[index(domain.state().id[index(s)])] = domain.state().position[index(s)];
  return found;
}

void expect_agreement(const Found& found, const test::Oracle& oracle, bool with_energies, double tolerance) {
  double error2 = 0, size2 = 0;
  std::array<std::uint64_t, 3> sum{};
  for (std::size_t id = 0; id < oracle.force.size(); ++id) {
    error2 += norm2(found.force_on(id) - oracle.force[id]);
    size2 += norm2(oracle.force[id]);
    for (std::size_t d = 0; d < 3; ++d) sum[d] += static_cast<std::uint64_t>(found.force[3 * id + d]);
  }
  ASSERT_GT(size2, 0);
  const double energy_tolerance = 0.05 * tolerance;  // 10⁻⁶ of the sum, for single precision
  EXPECT_LE(std::sqrt(error2 / size2), tolerance) << "relative error of forces, RMS";
  EXPECT_EQ(found.padding, 0);
  const auto near = [&](double value, double expected, double size, const char* name) {
    EXPECT_NEAR(value, with_energies ? expected : 0, energy_tolerance * size + 1e-6) << name;
  };
  near(found[Term::lj], oracle.lj, oracle.lj_size, "lj");
  near(found[Term::coulomb_real], oracle.real, oracle.real_size, "coulomb_real");
  near(found[Term::coulomb_exclusion], oracle.exclusion, oracle.exclusion_size, "coulomb_exclusion");
  for (std::size_t c = 0; c < 6; ++c)
    near(from_fixed(found.energies.virial[c], energy_unit), oracle.virial[c],
         oracle.lj_size + oracle.real_size + oracle.exclusion_size, "virial");
}

void expect_same_bits(const Found& one, const Found& other) {
  EXPECT_EQ(one.force, other.force);
  EXPECT_EQ(one.energies.energy, other.energies.energy);
  EXPECT_EQ(one.energies.virial, other.energies.virial);
}

/// Extends the direct sum beyond the Lennard-Jones cut-off.
PairSettings with_two_cutoffs(PairSettings settings) {
  settings.direct_cutoff = settings.cutoff;
  settings.cutoff = 6.9;
  settings.switch_distance = 5.5;
  return settings;
}

constexpr auto exactly = Precision::double_precision;

constexpr LjModifier modifiers[] = {LjModifier::cut, LjModifier::potential_switch, LjModifier::force_switch,
                                    LjModifier::force_switch_gromacs, LjModifier::quintic_switch};
constexpr Electrostatics electrostatics[] = {Electrostatics::pme, Electrostatics::cut, Electrostatics::shift,
                                             Electrostatics::force_switch};

void check_all_functions(const test::MixtureOptions& mixture, bool two_cutoffs = false) {
  const auto sample = test::make_mixture(mixture);
  std::vector<Fraction> position;
  for (const auto& p : sample.particles) position.push_back(p.position);
  ASSERT_GT(std::abs(sample.system.net_charge()), 0.5);
  for (const auto lj : modifiers)
    for (const auto e : electrostatics) {
      if (two_cutoffs && e != Electrostatics::pme) continue;
      SCOPED_TRACE("modifier " + std::to_string(static_cast<int>(lj)) + ", electrostatics " +
                   std::to_string(static_cast<int>(e)));
      const auto settings = two_cutoffs ? with_two_cutoffs(short_range(lj, e)) : short_range(lj, e);
      const auto oracle = test::all_pairs(sample.system, position, settings);
      ASSERT_LT(std::abs(oracle.lj), 1e4) << "the sample has clashes";
      expect_agreement(compute(sample, settings, {.precision = exactly}), oracle, true, 1e-9);
      tessera::test::for_instruction_sets([&] {
        for (const bool with_energies : {true, false})
          expect_agreement(compute(sample, settings, {.with_energies = with_energies}), oracle, with_energies, 2e-5);
      });
    }
}

TEST(PairSums, LorentzBerthelot) { check_all_functions({}); }
TEST(PairSums, Geometric) { check_all_functions({.rule = model::LjRule::geometric, .seed = 2}); }
TEST(PairSums, LorentzBerthelotWithNbfix) { check_all_functions({.with_nbfix = true, .seed = 3}); }
TEST(PairSums, GeometricWithNbfix) {
  check_all_functions({.rule = model::LjRule::geometric, .with_nbfix = true, .seed = 4});
}

TEST(PairSums, TwoCutoffs) {
  check_all_functions({.seed = 5}, true);
  check_all_functions({.rule = model::LjRule::geometric, .with_nbfix = true, .seed = 6}, true);
}

/// Returns potentials of a few pairs of atoms, which the kernel looks up entry by entry, or of most.
std::vector<model::PairPotential> potentials(Lookup lookup) {
  using Kind = model::PairPotentialKind;
  std::vector<model::PairPotential> few = {{2, 3, Kind::buckingham, {9000, 0.3, 200}},
                                           {2, 2, Kind::born_huggins_mayer, {4, 3, 3, 100, 50}},
                                           {3, 3, Kind::n_m, {0.2, 9, 6, 3.8}}};
  if (lookup == Lookup::some) return few;
  few.push_back({0, 0, Kind::buckingham, {40000, 0.27, 600}});
  few.push_back({0, 1, Kind::morse, {0.1, 2.9, 1.6}});
  return few;
}

TEST(PairSums, PairPotentials) {
  for (const auto lookup : {Lookup::some, Lookup::all})
    for (const bool with_nbfix : {false, true}) {
      const auto sample = test::make_mixture({.with_nbfix = with_nbfix, .seed = 7, .potentials = potentials(lookup)});
      ASSERT_EQ(plan_lookup(sample.system), lookup);
      std::vector<Fraction> position;
      for (const auto& p : sample.particles) position.push_back(p.position);
      for (const auto lj : {LjModifier::cut, LjModifier::potential_switch, LjModifier::quintic_switch})
        for (const auto e : electrostatics)
          for (const bool two_cutoffs : {false, true}) {
            if (two_cutoffs && e != Electrostatics::pme) continue;
            const auto settings = two_cutoffs ? with_two_cutoffs(short_range(lj, e)) : short_range(lj, e);
            const auto oracle = test::all_pairs(sample.system, position, settings);
            ASSERT_LT(std::abs(oracle.lj), 1e4) << "the sample has clashes";
            expect_agreement(compute(sample, settings, {.precision = exactly}), oracle, true, 1e-9);
            tessera::test::for_instruction_sets([&] {
              const auto both = compute(sample, settings, {});
              expect_agreement(both, oracle, true, 2e-5);
              EXPECT_EQ(both.force, compute(sample, settings, {.with_energies = false}).force);
              expect_same_bits(both, compute(sample, settings, {.threads = 3, .reach = 0.05}));
            });
          }
    }
}

// What Buckingham's formula says of close atoms has no meaning: they repel, and count as a clash.
TEST(PairSums, AtomsInACoreRepelAndClash) {
  for (const auto lookup : {Lookup::some, Lookup::all}) {
    auto sample = test::make_mixture({.seed = 7, .potentials = potentials(lookup)});
    std::array<std::size_t, 2> ions{};
    std::size_t n = 0;
    for (std::size_t id = 0; id < sample.particles.size() && n < 2; ++id)
      if (sample.system.find(static_cast<std::int64_t>(id)).molecule == 1) ions[n++] = id;
    ASSERT_EQ(n, 2U);
    const Vec3 d = {0.4, 0.3, 0};
    sample.particles[ions[1]].position = sample.particles[ions[0]].position + sample.system.box.fraction(d);
    const auto found = compute(sample, short_range(LjModifier::cut, Electrostatics::pme), {});
    EXPECT_GE(found.energies.clashes.count, 1);
    EXPECT_GT(found.force_on(ions[1]).x, 1000);
    EXPECT_LT(found.force_on(ions[0]).y, -1000);
  }
}

TEST(PairSums, SwitchesOfNoWidthArePlain) {
  const auto sample = test::make_mixture({});
  std::vector<Fraction> position;
  for (const auto& p : sample.particles) position.push_back(p.position);
  for (const auto lj : modifiers) {
    auto settings = short_range(lj, Electrostatics::pme);
    settings.switch_distance = settings.cutoff;
    SCOPED_TRACE(static_cast<int>(lj));
    const auto oracle = test::all_pairs(sample.system, position, settings);
    expect_agreement(compute(sample, settings, {}), oracle, true, 2e-5);
  }
}

/// Returns a box of this many cells along each edge, just large enough.
test::Sample sample_of_cells(std::int64_t n, const PairSettings& settings, double buffer) {
  const double cell = 0.5 * (settings.cutoff + buffer) + 1.1 * 0.96;
  const double edge = std::max(static_cast<double>(n) * cell, 2 * settings.cutoff) + 0.01;
  return test::make_mixture({.box = orthorhombic(edge, edge, edge), .seed = static_cast<std::uint64_t>(n)});
}

// With few cells a cell meets the same cell in several images; with many the shell of neighbours must reach far enough.
TEST(PairSums, AnyNumberOfCells) {
  for (const std::int64_t n : {2, 3, 4, 6, 8}) {
    SCOPED_TRACE(std::to_string(n) + " cells");
    auto settings = short_range(LjModifier::cut, Electrostatics::cut);  // every pair up to the cut-off counts
    if (n == 2) settings.cutoff = 5;                                    // two cells are as wide as twice the cut-off
    if (n >= 6) settings.cutoff = 6;
    const double buffer = n == 2 ? 3 : 1.5;
    const auto sample = sample_of_cells(n, settings, buffer);
    const auto grid = domain::plan_cell_grid(
        sample.system.box, {.list_range = settings.cutoff + buffer, .group_radius = group_radius(sample.system)});
    ASSERT_EQ(grid.n[0], n);
    for (const double moved : {0.0, 0.499 * buffer, 0.51 * buffer}) {
      SCOPED_TRACE("moved by " + std::to_string(moved));
      const auto exact = compute(sample, settings, {.precision = exactly, .buffer = buffer, .moved = moved});
      const auto oracle = test::all_pairs(sample.system, exact.position, settings);
      expect_agreement(exact, oracle, true, 1e-7);  // a cell's centre is rounded to 2⁻³² of the box
      // A move may push atoms into each other, where single precision is less exact.
      if (moved == 0) expect_agreement(compute(sample, settings, {.buffer = buffer}), oracle, true, 2e-5);
    }
  }
}

/// Both precisions, of which each has the same bits whatever the list and whoever sums.
constexpr Precision precisions[] = {Precision::mixed, exactly};

TEST(PairSums, TheSameBitsOnAnyThreads) {
  const auto sample = test::make_mixture({.with_nbfix = true});
  const auto settings = short_range(LjModifier::force_switch, Electrostatics::pme);
  for (const auto precision : precisions) {
    const auto one = compute(sample, settings, {.precision = precision, .moved = 0.3});
    for (const int threads : {2, 3, 5})
      for (int again = 0; again < 3; ++again)
        expect_same_bits(one, compute(sample, settings, {.precision = precision, .threads = threads, .moved = 0.3}));
  }
}

// Ranks may make their lists at different times.
TEST(PairSums, WhichListItIsChangesNoBit) {
  const auto sample = test::make_mixture({.with_nbfix = true});
  const auto settings = short_range(LjModifier::potential_switch, Electrostatics::pme);
  for (const auto precision : precisions)
    expect_same_bits(compute(sample, settings, {.precision = precision, .reach = 0.5}),
                     compute(sample, settings, {.precision = precision, .reach = 0.05}));
}

TEST(PairSums, ForcesWithAndWithoutEnergiesAreTheSameBits) {
  const auto sample = test::make_mixture({.with_nbfix = true});
  const auto check = [&](const PairSettings& settings) {
    for (const auto precision : precisions)
      EXPECT_EQ(compute(sample, settings, {.precision = precision, .with_energies = true}).force,
                compute(sample, settings, {.precision = precision, .with_energies = false}).force)
          << static_cast<int>(settings.lj) << " " << static_cast<int>(settings.electrostatics);
  };
  for (const auto lj : modifiers) {
    for (const auto e : electrostatics) check(short_range(lj, e));
    check(with_two_cutoffs(short_range(lj, Electrostatics::pme)));
  }
}

TEST(PairSums, TheSameBitsOnInstructionSets) {
  for (const bool with_potentials : {false, true}) {
    const auto sample = test::make_mixture(
        {.with_nbfix = true,
         .potentials = with_potentials ? potentials(Lookup::some) : std::vector<model::PairPotential>{}});
    for (const auto lj : modifiers)
      for (const auto e : electrostatics) {
        if (with_potentials && lj != LjModifier::cut) continue;
        SCOPED_TRACE("modifier " + std::to_string(static_cast<int>(lj)) + ", electrostatics " +
                     std::to_string(static_cast<int>(e)));
        const auto settings = short_range(lj, e);
        tessera::test::for_instruction_sets([&] { return compute(sample, settings, {}); });
      }
  }
  const auto sample = test::make_mixture({.with_nbfix = true});
  auto settings = short_range(LjModifier::pme, Electrostatics::pme);
  settings.lj_alpha = 0.4;
  tessera::test::for_instruction_sets([&] { return compute(sample, settings, {}); });
  for (const auto lj : {LjModifier::cut, LjModifier::force_switch})
    tessera::test::for_instruction_sets(
        [&] { return compute(sample, with_two_cutoffs(short_range(lj, Electrostatics::pme)), {}); });
}

TEST(PairSums, PairForcesSumToNothingExactly) {
  const auto sample = test::make_mixture({});
  for (const auto precision : precisions) {
    const auto found =
        compute(sample, short_range(LjModifier::force_switch, Electrostatics::cut), {.precision = precision});
    std::array<std::int64_t, 3> sum{}, size{};
    for (std::size_t i = 0; i < found.force.size(); ++i)
      sum[i % 3] += found.force[i], size[i % 3] += std::abs(found.force[i]);
    for (std::size_t d = 0; d < 3; ++d) {
      // The cluster kernel rounds the two sides of a cluster pair separately, to 2⁻¹⁸.
      EXPECT_LE(from_fixed(std::abs(sum[d]), force_unit), precision == Precision::mixed ? 0.01 : 0.0);
      EXPECT_GT(size[d], 0);
    }
  }
}

/// Computes two equal ions at a distance along x, alone in a box.
Found two_ions(double distance, double charge, Precision precision = Precision::mixed) {
  const Vec3 at = {1, 2, 3};
  test::Sample sample;
  auto& system = sample.system;
  system.box = orthorhombic(24, 24, 24);
  system.force_field.coulomb_constant = 332.0637;
  system.force_field.type_name = {"P"};
  system.force_field.type_lj = {{3.5, 0.3}};
  system.templates = {test::molecule("ION", {"P"}, {0}, {charge}, {40})};
  system.set_instances({{0, 2}});
  Particle p, q;
  p.id = 0;
  q.id = 1;
  p.position = system.box.fraction(at);
  q.position = system.box.fraction(at + Vec3{distance, 0, 0});
  sample.particles = {p, q};
  return compute(sample, short_range(LjModifier::force_switch, Electrostatics::pme), {.precision = precision});
}

TEST(PairSums, ForcesOnClashingAtomsAreFiniteAndLarge) {
  tessera::test::for_instruction_sets([&] {
    for (const double charge : {0.0, 1.0})
      for (const double distance : {1.5, 1.0, 0.5, 0.1, 0.01, 0.001}) {
        SCOPED_TRACE(distance);
        const auto found = two_ions(distance, charge);
        // The force points left on the left and right on the right: the ions repel, and no integer has overflowed.
        EXPECT_LT(found.force_on(0).x, -100);
        EXPECT_GT(found.force_on(1).x, 100);
        // Beyond the range of the kernels' integers the pair is computed in double precision.
        const double exact = two_ions(distance, charge, exactly).force_on(0).x;
        EXPECT_NEAR(found.force_on(0).x, exact, 1e-5 * std::abs(exact));
        EXPECT_NEAR(found.force_on(1).x, -exact, 1e-5 * std::abs(exact));
        EXPECT_GT(found[Term::lj], 100);
      }
    const auto found = two_ions(0, 0);
    EXPECT_EQ(found[Term::lj], energy_limit);
    EXPECT_TRUE(found.energies.clashes.is_energy_limited);
    EXPECT_EQ(std::abs(found.force_on(0).x), force_limit);
    EXPECT_EQ(found.force_on(1).x, -found.force_on(0).x);
  });
}

TEST(PairSums, EnergiesOfClashingAtomsAreRight) {
  for (const auto precision : precisions)
    for (const double distance : {1.0, 0.5, 0.3, 0.2, 0.13}) {
      SCOPED_TRACE(distance);
      const auto found = two_ions(distance, 0, precision);
      const auto lj = lennard_jones(short_range(LjModifier::force_switch, Electrostatics::pme),
                                    4 * 0.3 * std::pow(3.5, 12), 4 * 0.3 * std::pow(3.5, 6), distance * distance);
      EXPECT_NEAR(found[Term::lj], lj.energy, 1e-5 * lj.energy);  // positions are rounded to 10⁻⁸ Å
      const double exact = lj.force_over_r * distance;
      EXPECT_NEAR(found.force_on(1).x, std::min(exact, force_limit), 1e-5 * force_limit);
      EXPECT_FALSE(found.energies.clashes.is_energy_limited);
      ASSERT_EQ(found.energies.clashes.count, exact > force_limit ? 1 : 0);
      if (exact > force_limit) {
        const auto& clash = found.energies.clashes.nearest[0];
        EXPECT_EQ(clash.id, 0);
        EXPECT_EQ(clash.other, 1);
        EXPECT_NEAR(clash.distance, distance, 1e-6);
      }
    }
}

// Neighbours in a lattice push with 0.8 of what is a clash, or with a little more than that. Two of the first kind in
// one cluster pair are none, whatever lanes they share.
TEST(PairSums, WhatClashesIsOnePairOnEveryInstructionSet) {
  const auto settings = short_range(LjModifier::cut, Electrostatics::cut);
  const double a12 = 4 * 0.3 * std::pow(3.5, 12), b6 = 4 * 0.3 * std::pow(3.5, 6);
  for (const double part : {0.8, 1.01}) {
    SCOPED_TRACE(part);
    double near = 1, far = 3;  // Å
    while (far - near > 1e-6) {
      const double middle = 0.5 * (near + far);
      const bool is_greater =
          lennard_jones(settings, a12, b6, middle * middle).force_over_r > part * clash_force_over_r * pair_force_unit;
      (is_greater ? near : far) = middle;
    }
    constexpr int n = 4;
    test::Sample sample;
    auto& system = sample.system;
    system.box = orthorhombic(24, 24, 24);
    system.force_field.type_name = {"P"};
    system.force_field.type_lj = {{3.5, 0.3}};
    system.templates = {test::molecule("ION", {"P"}, {0}, {0}, {40})};
    system.set_instances({{0, n * n * n}});
    for (int i = 0; i < n * n * n; ++i) {
      Particle p;
      p.id = i;
      p.position = system.box.fraction({far * (i % n), far * (i / n % n), far * (i / (n * n))});
      sample.particles.push_back(p);
    }
    tessera::test::for_instruction_sets([&] { return compute(sample, settings, {}); });
  }
}

TEST(PairSums, NothingBeyondTheCutoff) {
  for (const auto precision : precisions) {
    EXPECT_NE(two_ions(7.99, 1, precision).force[0], 0);
    const auto beyond = two_ions(8.01, 1, precision);
    for (const auto f : beyond.force) EXPECT_EQ(f, 0);
    EXPECT_EQ(beyond[Term::coulomb_real], 0);
  }
}

}  // namespace
}  // namespace tessera::md::pair
