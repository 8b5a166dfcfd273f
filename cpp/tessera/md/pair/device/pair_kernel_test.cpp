// Compares the kernels of pairs of a device, as a host runs them, with the engine's: every bit must be the same.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/simd/lane/host_lanes.h"
#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/md/energies.h"
#include "tessera/md/pair/device/host_pairs.h"
#include "tessera/md/pair/exact_pairs.h"
#include "tessera/md/pair/pair_forces.h"
#include "tessera/md/test_support/systems.h"
#include "tessera/md/topology.h"

namespace tessera::md::pair {
namespace {

using md::test::index, md::test::short_range, md::test::Sample, md::test::make_mixture;

struct Found {
  std::vector<std::int64_t> force;  // by slot, x y z, force_unit
  EnergyVirial sums;
};

/// Holds a sample's atoms and their pair list.
class Pairs {
 public:
  Pairs(const Sample& sample, const PairSettings& settings)
      : system_(sample.system),
        state_(md::test::state_in(system_.box)),
        domain_(system_,
                domain::plan_decomposition(domain::plan_cell_grid(system_.box, {.list_range = settings.range() + buffer,
                                                                                .group_radius = group_radius(system_)}),
                                           1),
                state_, comm_, threads_) {
    domain_.distribute({sample.particles, {}});
    forces_.emplace(domain_, settings, ListSettings{.most_reach = 0.5 * buffer}, Precision::mixed, threads_);
    forces_->rebuild();
    forces_->update(false);
    const auto& data = forces_->data();
    PairLister lister(domain_, threads_);
    lister.rebuild(settings.range());
    lister.build(data.clusters, data.reach, data.exclusions, data.table_pairs, data.type,
                 settings.range() + list_rounding, list_);
  }

  /// Sums as runs do.
  Found engine(StepSums what) {
    return add(what, [&](Accumulator& accumulator) { forces_->add_forces({&accumulator, 1}); });
  }
  /// Sums by the kernels of a device, with what the engine computes in double precision.
  Found device(StepSums what, std::uint64_t seed) {
    return add(what, [&](Accumulator& accumulator) {
      std::vector<Clash> clashes;
      test::add_pairs_on_host(forces_->data(), list_, seed, accumulator, clashes);
      const ExactPairs exact(forces_->data());
      for (const auto& clash : clashes)
        exact.add(clash.i_cluster, clash.entry, ExactPairs::ExclusionEnergy::leave_out, accumulator);
      n_clashes_ += std::ssize(clashes);
      if (!accumulator.sums_pair_energies()) return;
      for (const auto* parts : {&list_.inner, &list_.outer})
        for (const auto& part : *parts)
          for (std::size_t row = 0; row < part.n_rows(); ++row)
            for (const auto& entry : part.masked_of(row))
              exact.add_exclusion_energies(part.rows[row].i_cluster, entry, *accumulator.energies);
    });
  }
  std::int64_t n_clashes() const { return n_clashes_; }

 private:
  static constexpr double buffer = 1.5;  // Å

  template <class Add>
  Found add(StepSums what, Add&& add) {
    Found found;
    found.force.resize(3 * index(domain_.n_slots()));
    Accumulator accumulator(found.force, what == StepSums::none ? nullptr : &found.sums);
    accumulator.needs_pair_energies = what == StepSums::energies;
    add(accumulator);
    return found;
  }

  const model::System& system_;
  ThreadPool threads_{1};
  comm::Communicator comm_ = comm::Communicator::world();
  State state_;
  domain::Domain domain_;
  std::optional<PairForces> forces_;
  PairList list_;
  std::int64_t n_clashes_ = 0;
};

void expect_same_bits(const Found& device, const Found& engine) {
  EXPECT_EQ(device.force, engine.force);
  EXPECT_EQ(device.sums.energy, engine.sums.energy);
  EXPECT_EQ(device.sums.energy_of_clashes, engine.sums.energy_of_clashes);
  EXPECT_EQ(device.sums.virial, engine.sums.virial);
  EXPECT_EQ(device.sums.virial_of_clashes, engine.sums.virial_of_clashes);
  EXPECT_EQ(device.sums.virial_remainder, engine.sums.virial_remainder);
  EXPECT_EQ(device.sums.clashes.count, engine.sums.clashes.count);
}

/// Tells whether the test can be made here, and says so if not.
#define TESSERA_NEEDS_HOST_LANES() \
  if (!tessera::simd::has_host_lanes()) GTEST_SKIP() << "the host's lanes need AVX2"

/// Compares all that a step may sum, on every instruction set of the engine and in three orders of warps.
void check(const Sample& sample, const PairSettings& settings) {
  SCOPED_TRACE("modifier " + std::to_string(static_cast<int>(settings.lj)) + ", electrostatics " +
               std::to_string(static_cast<int>(settings.electrostatics)));
  Pairs pairs(sample, settings);
  for (const auto what : {StepSums::none, StepSums::virial, StepSums::energies}) {
    SCOPED_TRACE("sums " + std::to_string(static_cast<int>(what)));
    const auto device = pairs.device(what, 1);
    for (const std::uint64_t seed : {2, 3}) expect_same_bits(pairs.device(what, seed), device);
    tessera::test::for_instruction_sets([&] { expect_same_bits(device, pairs.engine(what)); });
  }
}

PairSettings with_two_cutoffs(PairSettings settings) {
  settings.direct_cutoff = settings.cutoff;
  settings.cutoff = 6.9;
  settings.switch_distance = 5.5;
  return settings;
}

constexpr LjModifier modifiers[] = {LjModifier::cut, LjModifier::potential_switch, LjModifier::force_switch,
                                    LjModifier::force_switch_gromacs, LjModifier::quintic_switch};
constexpr Electrostatics electrostatics[] = {Electrostatics::pme, Electrostatics::cut, Electrostatics::shift,
                                             Electrostatics::force_switch};

TEST(DevicePairs, EveryModifierElectrostaticsAndRule) {
  TESSERA_NEEDS_HOST_LANES();
  for (const auto rule : {model::LjRule::lorentz_berthelot, model::LjRule::geometric}) {
    // With NBFIX some pairs have parameters from a table.
    const auto sample = make_mixture({.rule = rule, .with_nbfix = rule == model::LjRule::geometric, .seed = 3});
    for (const auto lj : modifiers)
      for (const auto e : electrostatics) check(sample, short_range(lj, e));
  }
}

TEST(DevicePairs, TwoCutoffs) {
  TESSERA_NEEDS_HOST_LANES();
  const auto sample = make_mixture({.with_nbfix = true, .seed = 5});
  for (const auto lj : modifiers) check(sample, with_two_cutoffs(short_range(lj, Electrostatics::pme)));
}

TEST(DevicePairs, DispersionByTheMesh) {
  TESSERA_NEEDS_HOST_LANES();
  for (const auto rule : {model::LjRule::lorentz_berthelot, model::LjRule::geometric}) {
    auto settings = short_range(LjModifier::pme, Electrostatics::pme);
    settings.lj_alpha = 0.4;
    check(make_mixture({.rule = rule, .seed = 6}), settings);
  }
}

TEST(DevicePairs, OnePolynomialForAllDistances) {
  TESSERA_NEEDS_HOST_LANES();
  auto settings = short_range(LjModifier::cut, Electrostatics::pme);
  settings.alpha = 0.55;  // pieces are not good enough for it
  ASSERT_TRUE(prepare_constants(settings, KernelRule::lorentz_berthelot).constants.needs_high_degree);
  check(make_mixture({.with_nbfix = true, .seed = 8}), settings);
}

/// Returns potentials of a few pairs of atoms, or of most.
std::vector<model::PairPotential> potentials(Lookup lookup) {
  using Kind = model::PairPotentialKind;
  std::vector<model::PairPotential> few = {{2, 3, Kind::buckingham, {9000, 0.3, 200}},
                                           {2, 2, Kind::born_huggins_mayer, {4, 3, 3, 100, 50}}};
  if (lookup == Lookup::all) {
    few.push_back({0, 0, Kind::buckingham, {40000, 0.27, 600}});
    few.push_back({0, 1, Kind::morse, {0.1, 2.9, 1.6}});
  }
  return few;
}

TEST(DevicePairs, PairPotentials) {
  TESSERA_NEEDS_HOST_LANES();
  for (const auto lookup : {Lookup::some, Lookup::all}) {
    const auto sample = make_mixture({.with_nbfix = true, .seed = 7, .potentials = potentials(lookup)});
    ASSERT_EQ(plan_lookup(sample.system), lookup);
    for (const auto e : {Electrostatics::pme, Electrostatics::shift})
      check(sample, short_range(LjModifier::potential_switch, e));
  }
}

// Entries with a clash are left to double precision, with whatever else is in them.
TEST(DevicePairs, Clashes) {
  TESSERA_NEEDS_HOST_LANES();
  for (const bool with_nbfix : {false, true}) {
    auto sample = make_mixture({.with_nbfix = with_nbfix, .seed = 9});
    const auto n = sample.particles.size();
    for (std::size_t id = 0; id < n; id += n / 6) {
      const Vec3 d = {0.2 + 0.0002 * static_cast<double>(id), 0.1, 0};
      sample.particles[id].position = sample.particles[(id + n / 2) % n].position + sample.system.box.fraction(d);
    }
    // Two at one place, where F/r is no number.
    sample.particles[n - 1].position = sample.particles[n - 5].position;
    const auto settings = short_range(LjModifier::force_switch, Electrostatics::pme);
    check(sample, settings);
    Pairs pairs(sample, settings);
    EXPECT_GT(pairs.device(StepSums::energies, 1).sums.clashes.count, 2);
    EXPECT_GE(pairs.n_clashes(), 4);
  }
}

// Of the energy of a row whole multiples of large_energy are summed apart.
TEST(DevicePairs, LargeEnergies) {
  TESSERA_NEEDS_HOST_LANES();
  Sample sample;
  auto& system = sample.system;
  constexpr int n = 5;
  constexpr double spacing = 9.6;  // Å
  system.box = orthorhombic(n * spacing, n * spacing, n * spacing);
  system.force_field.coulomb_constant = 332.0637;
  system.force_field.type_name = {"P"};
  system.force_field.type_lj = {{3.5, 0.3}};
  const double charge = std::sqrt(0.9 * 250 * spacing * spacing * spacing / 332.0637);  // F/r is just no clash
  system.templates = {md::test::molecule("ION", {"P"}, {0}, {charge}, {40})};
  system.set_instances({{0, n * n * n}});
  for (int i = 0; i < n * n * n; ++i) {
    Particle p;
    p.id = i;
    p.position = system.box.fraction({spacing * (i % n), spacing * (i / n % n), spacing * (i / (n * n))});
    sample.particles.push_back(p);
  }
  auto settings = short_range(LjModifier::cut, Electrostatics::cut);
  settings.cutoff = 22.4;
  Pairs pairs(sample, settings);
  const auto device = pairs.device(StepSums::energies, 1), engine = pairs.engine(StepSums::energies);
  const auto term = static_cast<std::size_t>(Term::coulomb_real);
  EXPECT_NE(engine.sums.energy_of_clashes[term], 0);
  EXPECT_EQ(pairs.n_clashes(), 0);
  EXPECT_EQ(device.sums.energy, engine.sums.energy);
  EXPECT_EQ(device.sums.energy_of_clashes, engine.sums.energy_of_clashes);
}

}  // namespace
}  // namespace tessera::md::pair
