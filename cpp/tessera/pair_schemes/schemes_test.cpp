// Compares the schemes with the engine's own sums on the same atoms.
#include "tessera/pair_schemes/schemes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/md/pair/pair_forces.h"
#include "tessera/md/test_support/systems.h"
#include "tessera/md/topology.h"

namespace tessera::pair_schemes {
namespace {

using md::pair::Electrostatics, md::pair::LjModifier, md::pair::PairSettings, md::pair::Precision;
using md::test::index, md::test::Sample, md::test::short_range;

using Forces = std::vector<std::int64_t>;  // by slot, x y z, force_unit

double value(std::int64_t force) { return from_fixed(force, force_unit); }

struct Options {
  int threads = 1;
  double buffer = 1.5, reach = 0.5;                   // Å; of each atom, in units of the buffer
  Precision precision = Precision::double_precision;  // of the engine
};

/// Returns the sum by a scheme, or that of the engine where it is null.
Forces compute(const Sample& sample, const PairSettings& settings, const PairScheme* scheme,
               const Function& function = {}, const Options& options = {}) {
  ThreadPool threads(options.threads);
  const auto comm = comm::Communicator::world();
  const auto grid = md::domain::plan_cell_grid(sample.system.box, {.list_range = settings.range() + options.buffer,
                                                                   .group_radius = md::group_radius(sample.system)});
  auto state = md::test::state_in(sample.system.box);
  md::domain::Domain domain(sample.system, md::domain::plan_decomposition(grid, 1), state, comm, threads);
  auto particles = sample.particles;
  for (auto& particle : particles) particle.velocity = {1 << 30, 0, 0};  // so that each has the greatest reach
  domain.distribute({particles, {}});
  md::pair::PairForces forces(domain, settings, {.most_reach = options.reach * options.buffer}, options.precision,
                              threads);
  forces.rebuild();
  forces.update(true);
  std::vector<Forces> force(index(options.threads), Forces(3 * index(domain.n_slots())));
  std::vector<md::Accumulator> accumulators;
  for (auto& of_thread : force) accumulators.emplace_back(of_thread, nullptr);
  if (scheme != nullptr) {
    const auto sum = scheme->make(forces.data(), function);
    sum->rebuild();
    sum->update(true);
    sum->add_forces(accumulators);
    EXPECT_GT(sum->n_evaluated(), 0);
    EXPECT_GT(sum->list_bytes(), 0U);
  } else {
    forces.add_forces(accumulators);
  }
  for (std::size_t t = 1; t < force.size(); ++t)
    for (std::size_t i = 0; i < force[t].size(); ++i) add_fixed(force.front()[i], force[t][i]);
  return force.front();
}

/// Calls check(scheme, function) for every scheme by formula and by table.
template <class Check>
void for_schemes(double density, Check&& check) {
  ASSERT_EQ(pair_schemes().size(), 4U);
  for (const auto& scheme : pair_schemes())
    for (const bool by_table : {false, true}) {
      SCOPED_TRACE(std::string(scheme.name) + (by_table ? ", table" : ""));
      check(scheme, Function{by_table, density});
    }
}

void expect_agreement(const Forces& found, const Forces& exact) {
  double error2 = 0, size2 = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error2 += std::pow(value(found[i]) - value(exact[i]), 2);
    size2 += std::pow(value(exact[i]), 2);
  }
  ASSERT_GT(size2, 0);
  EXPECT_LE(std::sqrt(error2 / size2), 2e-5);
}

TEST(PairSchemes, AgreeWithTheEngine) {
  for (const auto rule : {model::LjRule::lorentz_berthelot, model::LjRule::geometric}) {
    const bool with_nbfix = rule == model::LjRule::geometric;
    const auto sample = md::test::make_mixture({.rule = rule, .with_nbfix = with_nbfix, .seed = 3});
    for (const auto lj : {LjModifier::cut, LjModifier::potential_switch, LjModifier::force_switch})
      for (const auto e : {Electrostatics::pme, Electrostatics::shift})
        for (const bool two_cutoffs : {false, true}) {
          if (two_cutoffs && e != Electrostatics::pme) continue;
          auto settings = short_range(lj, e);
          if (two_cutoffs) settings.direct_cutoff = 8, settings.cutoff = 6.9, settings.switch_distance = 5.5;
          const auto exact = compute(sample, settings, nullptr);
          const auto clusters = compute(sample, settings, nullptr, {}, {.precision = Precision::mixed});
          tessera::test::for_instruction_sets([&] {
            for_schemes(800, [&](const auto& scheme, const auto& function) {
              const auto found = compute(sample, settings, &scheme, function);
              expect_agreement(found, exact);
              expect_agreement(found, clusters);
            });
          });
        }
  }
}

TEST(PairSchemes, HaveTheSameBitsWhoeverSumsByWhateverList) {
  const auto sample = md::test::make_mixture({.with_nbfix = true});
  const auto settings = short_range(LjModifier::force_switch, Electrostatics::pme);
  for_schemes(20, [&](const auto& scheme, const auto& function) {
    const auto one = compute(sample, settings, &scheme, function);
    for (const int threads : {2, 3, 5})
      EXPECT_EQ(one, compute(sample, settings, &scheme, function, {.threads = threads}));
    EXPECT_EQ(one, compute(sample, settings, &scheme, function, {.reach = 0.05}));
    tessera::test::for_instruction_sets([&] { return compute(sample, settings, &scheme, function); });
    std::array<std::int64_t, 3> sum{};
    for (std::size_t i = 0; i < one.size(); ++i) sum[i % 3] += one[i];
    EXPECT_EQ(sum, (std::array<std::int64_t, 3>{}));
  });
}

// With few cells a cell meets the same cell in several images.
TEST(PairSchemes, AgreeWithAnyNumberOfCells) {
  for (const std::int64_t n : {2, 3, 4, 6}) {
    auto settings = short_range(LjModifier::cut, Electrostatics::cut);
    if (n != 3 && n != 4) settings.cutoff = n == 2 ? 5 : 6;
    const double buffer = n == 2 ? 3 : 1.5;
    const double edge =
        std::max(static_cast<double>(n) * (0.5 * (settings.cutoff + buffer) + 1.1 * 0.96), 2 * settings.cutoff) + 0.01;
    const auto sample =
        md::test::make_mixture({.box = orthorhombic(edge, edge, edge), .seed = static_cast<std::uint64_t>(n)});
    const auto exact = compute(sample, settings, nullptr, {}, {.buffer = buffer});
    for_schemes(800, [&](const auto& scheme, const auto& function) {
      expect_agreement(compute(sample, settings, &scheme, function, {.buffer = buffer}), exact);
    });
  }
}

/// Returns two equal ions at a distance along x, alone in a box.
Sample two_ions(double distance) {
  Sample sample;
  auto& system = sample.system;
  system.box = orthorhombic(24, 24, 24);
  system.force_field.coulomb_constant = 332.0637;
  system.force_field.type_name = {"P"};
  system.force_field.type_lj = {{3.5, 0.3}};
  system.templates = {md::test::molecule("ION", {"P"}, {0}, {1}, {40})};
  system.set_instances({{0, 2}});
  for (const double x : {1.0, 1.0 + distance}) {
    md::Particle ion;
    ion.id = std::ssize(sample.particles);
    ion.position = system.box.fraction({x, 2, 3});
    sample.particles.push_back(ion);
  }
  return sample;
}

TEST(PairSchemes, LeaveClashingAtomsToDoublePrecision) {
  const auto settings = short_range(LjModifier::force_switch, Electrostatics::pme);
  for (const double distance : {1.5, 1.0, 0.5, 0.1, 0.001, 0.0}) {
    SCOPED_TRACE(distance);
    const auto exact = compute(two_ions(distance), settings, nullptr);
    for_schemes(400, [&](const auto& scheme, const auto& function) {
      const auto found = compute(two_ions(distance), settings, &scheme, function);
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(value(found[i]), value(exact[i]), 1e-5 * std::abs(value(exact[i])));
    });
  }
}

TEST(PairSchemes, AddNothingBeyondTheCutoff) {
  for_schemes(20, [&](const auto& scheme, const auto& function) {
    const auto settings = short_range(LjModifier::force_switch, Electrostatics::pme);
    for (const auto f : compute(two_ions(8.01), settings, &scheme, function)) EXPECT_EQ(f, 0);
  });
}

}  // namespace
}  // namespace tessera::pair_schemes
