// Compares the kernels of pairs of a device, as a host runs them, with the engine's: every bit must be the same.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/base/index.h"
#include "tessera/base/simd/lane/host_lanes.h"
#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/device/device.h"
#include "tessera/device/test_support/device_of_host.h"
#include "tessera/md/device/device_atoms.h"
#include "tessera/md/energies.h"
#include "tessera/md/pair/device/device_list.h"
#include "tessera/md/pair/pair_forces.h"
#include "tessera/md/test_support/systems.h"
#include "tessera/md/topology.h"

namespace tessera::md::pair {
namespace {

using device::test::DeviceOfHost;
using md::test::index, md::test::short_range, md::test::Sample, md::test::make_mixture;

struct Found {
  std::vector<std::int64_t> force;  // by slot, x y z, force_unit
  EnergyVirial sums;
};

/// Holds a sample's atoms and their pair lists, one for sums as runs make them without a device and one for those with.
class Pairs {
 public:
  Pairs(const Sample& sample, const PairSettings& settings)
      : system_(sample.system),
        settings_(settings),
        state_(md::test::state_in(system_.box)),
        domain_(system_,
                domain::plan_decomposition(domain::plan_cell_grid(system_.box, {.list_range = settings.range() + buffer,
                                                                                .group_radius = group_radius(system_)}),
                                           1),
                state_, comm_, threads_) {
    domain_.distribute({sample.particles, {}});
    make(on_host_, nullptr);
    make_on_device();
  }

  void make_on_device() {
    on_device_.reset();
    atoms_.reset();
    device_.open();
    atoms_.emplace(threads_, device_.get(), 1);
    atoms_->rebuild(index(domain_.n_slots()));
    make_again();
  }
  /// Makes what sums on the device anew, as a run does whose cells go to other ranks or whose box changes.
  void make_again() { make(on_device_, &*atoms_); }
  Found engine(StepSums what) {
    return found_by(what, [&](std::span<Accumulator> accumulators) {
      on_host_->update(true);
      on_host_->add_forces(accumulators);
    });
  }
  Found device(StepSums what, std::uint64_t seed) {
    DeviceOfHost::set("seed=" + std::to_string(seed));
    auto found = add_on_device(what);
    EXPECT_TRUE(on_device_->sum().is_on_device()) << error();
    return found;
  }
  /// Sums where a call of the driver fails.
  Found device_that_fails(StepSums what, std::size_t at_call) {
    DeviceOfHost::set("fail_call=" + std::to_string(at_call));
    auto found = add_on_device(what);
    EXPECT_FALSE(on_device_->sum().is_on_device());
    return found;
  }
  /// Sums where the first call fails that the driver gets after the inner half has begun.
  Found device_that_fails_between_halves(StepSums what) {
    make_on_device();
    const auto& data = on_host_->data();
    ClusterSum sum(data, Precision::mixed);
    sum.use_device(*atoms_, make_lookup_table(data.short_range, settings_, Lookup::none, pair_force_unit));
    sum.rebuild();
    sum.update(true);
    return found_by(what, [&](std::span<Accumulator> accumulators) {
      sum.add_inner_forces(accumulators, [] {});
      DeviceOfHost::set("fail_call=1");
      sum.update(true);
      EXPECT_FALSE(sum.is_on_device());
      sum.add_forces(accumulators);
    });
  }
  /// Returns how many pairs of atoms are evaluated with the device, over those without.
  double more_evaluated() const {
    return static_cast<double>(on_device_->sum().n_evaluated()) / static_cast<double>(on_host_->sum().n_evaluated());
  }
  const std::string& error() { return device_.get().error(); }
  const domain::Domain& domain() const { return domain_; }

 private:
  static constexpr double buffer = 1.5;  // Å

  void make(std::optional<PairForces>& forces, const DeviceAtoms* atoms) {
    forces.emplace(domain_, settings_, ListSettings{.most_reach = 0.5 * buffer}, Precision::mixed, threads_, atoms);
    forces->rebuild();
  }
  /// Sums as a step does; a call that fails ends the use of the device.
  Found add_on_device(StepSums what) {
    return found_by(what, [&](std::span<Accumulator> accumulators) {
      on_device_->update(true);
      auto& in_use = device_.get();
      in_use.attempt([&] { atoms_->start(state_.position, all_groups); });
      on_device_->start_forces(accumulators, atoms_->total(0));
      const bool is_done = in_use.attempt([&] {
        do atoms_->fetch(1);
        while (!on_device_->has_device_ended());
      });
      if (is_done) atoms_->add_to(0, accumulators[0].total);
      on_device_->add_forces(accumulators);
    });
  }
  template <class Add>
  Found found_by(StepSums what, const Add& add) const {
    Found found;
    found.force.resize(3 * index(domain_.n_slots()));
    Accumulator accumulator(found.force, what == StepSums::none ? nullptr : &found.sums);
    accumulator.needs_pair_energies = what == StepSums::energies;
    add(std::span(&accumulator, 1));
    return found;
  }

  const model::System& system_;
  PairSettings settings_;
  ThreadPool threads_{1};
  comm::Communicator comm_ = comm::Communicator::world();
  State state_;
  domain::Domain domain_;
  DeviceOfHost device_;
  std::optional<DeviceAtoms> atoms_;
  std::optional<PairForces> on_host_, on_device_;
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
    EXPECT_GT(Pairs(sample, settings).device(StepSums::energies, 1).sums.clashes.count, 2);
  }
}

// There is room for few clashes at first.
TEST(DevicePairs, ManyClashes) {
  TESSERA_NEEDS_HOST_LANES();
  auto sample = make_mixture({.seed = 10});
  for (std::size_t id = 20; id < sample.particles.size(); ++id) {
    const Vec3 d = {0.01 * static_cast<double>(id), 0.3, 0};
    sample.particles[id].position = sample.particles[id % 20].position + sample.system.box.fraction(d);
  }
  check(sample, short_range(LjModifier::force_switch, Electrostatics::pme));
}

// Whatever fails on a device is done by the host, with the same result.
TEST(DevicePairs, EveryFailureIsMadeUpFor) {
  TESSERA_NEEDS_HOST_LANES();
  for (const auto& [with_nbfix, what] : {std::pair(true, StepSums::energies), {false, StepSums::none}}) {
    SCOPED_TRACE(with_nbfix ? "with NBFIX" : "without NBFIX");
    const auto sample = make_mixture({.with_nbfix = with_nbfix, .seed = 11});
    Pairs pairs(sample, short_range(LjModifier::cut, Electrostatics::pme));
    const auto engine = pairs.engine(what);
    pairs.make_on_device();
    expect_same_bits(pairs.device(what, 1), engine);
    const auto n = DeviceOfHost::n_calls();
    EXPECT_GT(n, 20);
    for (std::size_t call = 1; call <= n; ++call) {
      pairs.make_on_device();
      expect_same_bits(pairs.device_that_fails(what, call), engine);
      EXPECT_NE(pairs.error().find("failed with CUDA_ERROR_UNKNOWN"), std::string::npos) << pairs.error();
      expect_same_bits(pairs.device_that_fails(what, 0), engine);  // and the steps after it
      pairs.make_again();
      expect_same_bits(pairs.device_that_fails(what, 0), engine);  // nor is it tried again
    }
  }
}

// A list that is made after the inner half has begun may end the use of a device.
TEST(DevicePairs, AFailureBetweenBothHalvesIsMadeUpFor) {
  TESSERA_NEEDS_HOST_LANES();
  const auto sample = make_mixture({.seed = 12});
  Pairs pairs(sample, short_range(LjModifier::cut, Electrostatics::pme));
  const auto engine = pairs.engine(StepSums::virial);
  expect_same_bits(pairs.device_that_fails_between_halves(StepSums::virial), engine);
}

// What a device lists, it finds by the distances of atoms, as the engine does; entries with masks may not be near.
TEST(DevicePairs, ListsNoMoreThanIsNear) {
  TESSERA_NEEDS_HOST_LANES();
  const auto sample = make_mixture({.seed = 14});
  Pairs pairs(sample, short_range(LjModifier::cut, Electrostatics::pme));
  pairs.engine(StepSums::none);
  pairs.device(StepSums::none, 1);
  EXPECT_GT(pairs.more_evaluated(), 0.99);
  EXPECT_LT(pairs.more_evaluated(), 1.02);
}

TEST(MaskedRows, KeepEveryEntryOnce) {
  std::mt19937 random(13);
  const auto below = [&](std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random); };
  const auto fill = [&](PairListPart& part, std::int32_t n_rows) {
    for (std::int32_t cluster = 0; cluster < n_rows; ++cluster) {
      part.rows.push_back({cluster, std::ssize(part.masked), 0});
      for (auto n = below(4); n > 0; --n) {
        const auto masks = static_cast<std::uint16_t>(below(0x10000));
        part.masked.push_back({below(1000), masks, static_cast<std::uint16_t>(~masks), below(2) == 0});
      }
    }
    part.rows.push_back({-1, std::ssize(part.masked), 0});
  };
  PairList list;
  list.inner.resize(2);
  list.outer.resize(2);
  fill(list.inner[0], 40);
  fill(list.inner[1], 20);
  fill(list.outer[1], 60);  // and a thread that has listed nothing
  const auto made = masked_rows(list);
  using Masked = std::multiset<std::tuple<std::int32_t, PairEntry, std::uint32_t, bool, bool>>;
  Masked masked, masked_made;
  for (const auto* parts : {&list.inner, &list.outer})
    for (const auto& part : *parts)
      for (std::size_t row = 0; row < part.n_rows(); ++row)
        for (const auto& e : part.masked_of(row))
          masked.emplace(part.rows[row].i_cluster, e.j, e.interact | std::uint32_t{e.excluded} << 16, e.by_table,
                         parts == &list.inner);
  for (std::int64_t r = 0; r < std::ssize(made.rows); ++r) {
    const auto& row = made.rows[at(r)];
    EXPECT_LT(row.by_table_begin, row.end);
    for (auto e = row.by_table_begin; e < row.end; ++e)
      masked_made.emplace(row.i_cluster, made.masked[at(e)].j, made.masked[at(e)].masks, e < row.masked_begin,
                          r < made.n_inner_rows);
  }
  EXPECT_GT(masked.size(), 100U);
  EXPECT_EQ(masked_made, masked);
}

// Whole multiples of large_energy are summed apart: of the energy of a row, and of a tile on a device.
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
  EXPECT_EQ(engine.sums.clashes.count, 0);
  EXPECT_NE(device.sums.energy_of_clashes[term], 0);
  EXPECT_EQ(device.sums[Term::coulomb_real], engine.sums[Term::coulomb_real]);
  EXPECT_EQ(device.sums[Term::lj], engine.sums[Term::lj]);
}

}  // namespace
}  // namespace tessera::md::pair
