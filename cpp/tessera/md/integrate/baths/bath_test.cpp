// Heat and pressure baths: the same bits on any ranks and over restarts, conserved quantities, means.
#include "tessera/md/integrate/baths/bath.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/base/units.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md::integrate {
namespace {

using namespace test;

struct Case {
  std::string name, thermostat, barostat{};
  Edges edges = Edges::isotropic;
  std::int64_t chain = 3;
};

EngineSettings with_baths(const Case& baths, bool rigid = true) {
  auto s = settings(rigid, false);
  s.baths.thermostat = baths.thermostat;
  s.baths.barostat = baths.barostat;
  s.baths.edges = baths.edges;
  s.baths.chain = baths.chain;
  s.baths.heat_baths.front().tau_t = 0.1;
  s.baths.tau_p = 0.5;
  s.baths.every = 5;
  s.baths.trials_every = 5;
  if (const auto own = thermostat(baths.thermostat).integrator; !own.empty()) s.integrator = own;
  return s;
}

/// The state of all ranks by id, and its energies.
struct End {
  Snapshot state;
  Energies energies;
};

/// Runs so many steps from a state on some ranks.
End run(const model::System& system, const EngineSettings& s, const Snapshot& from, int n_ranks, int n_steps) {
  End end;
  std::mutex mutex;
  comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads;
    auto engine = make_engine(system, s, comm, threads);
    auto start = from;
    if (!comm.is_root()) start.atoms.clear();
    engine.set_state(start);
    engine.measure();
    for (int i = 0; i < n_steps; ++i) engine.step(i + 1 == n_steps);
    const auto own = engine.snapshot();
    const std::lock_guard lock(mutex);
    static_cast<GlobalState&>(end.state) = own;
    end.state.atoms.insert(end.state.atoms.end(), own.atoms.begin(), own.atoms.end());
    end.energies = engine.energies();
  });
  std::sort(end.state.atoms.begin(), end.state.atoms.end(), [](const auto& p, const auto& q) { return p.id < q.id; });
  return end;
}

class AllBaths : public testing::TestWithParam<Case> {};

TEST_P(AllBaths, AreTheSameBitsOnAnyRanksAndOverRestarts) {
  const auto& sample = warm_water(true);
  const auto s = with_baths(GetParam());
  const auto start = snapshot_of(sample);
  const auto straight = run(sample.system, s, start, 1, 47);
  const auto first_part = run(sample.system, s, start, 3, 23);
  const auto found = run(sample.system, s, first_part.state, 4, 24);
  EXPECT_TRUE(found.state.box == straight.state.box);
  EXPECT_EQ(found.state.coupling, straight.state.coupling);
  EXPECT_EQ(found.energies.term, straight.energies.term);
  EXPECT_EQ(found.energies.conserved, straight.energies.conserved);
  ASSERT_EQ(found.state.atoms.size(), straight.state.atoms.size());
  for (std::size_t i = 0; i < found.state.atoms.size(); ++i)
    ASSERT_EQ(found.state.atoms[i].velocity, straight.state.atoms[i].velocity);
  EXPECT_NE(straight.energies.conserved, straight.energies.total());
  if (!GetParam().barostat.empty()) {
    EXPECT_FALSE(straight.state.box == start.box);
  }
}

TEST_P(AllBaths, ConserveWhatTheySay) {
  const auto& sample = warm_water(true);
  auto s = with_baths(GetParam());
  s.baths.temperature = s.baths.heat_baths.front().temperature = 330;
  Simulation simulation(sample, s);
  simulation.engine.measure();
  const auto before = simulation.engine.energies();
  // Single values fluctuate (the temperature by 12 K), so the energy that the bath gives is the largest, and the
  // temperature a mean over the second half.
  double furthest = 0;
  double given = 0;
  double temperature = 0;
  for (int i = 0; i < 20; ++i) {
    simulation.advance(24);
    simulation.advance(1, true);
    const auto now = simulation.engine.energies();
    furthest = std::max(furthest, std::abs(now.conserved - before.conserved));
    given = std::max(given, std::abs(now.total() - before.total()));
    if (i >= 10) temperature += now.temperature / 10;
  }
  const auto thermal = 0.5 * 1295 * units::boltzmann * 30;  // of 216 rigid waters between 300 and 330 K
  EXPECT_GT(given, 0.2 * thermal) << "the bath has done nothing";
  EXPECT_LT(furthest, 0.02 * thermal);
  EXPECT_GT(temperature, 310);
}

/// Returns every bath of the registries, and what they are combined with.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& heat : thermostats()) all.push_back({std::string(heat.name), std::string(heat.name)});
  for (const auto& pressure : barostats())
    all.push_back({"barostat_" + std::string(pressure.name),
                   std::string(pressure.thermostat.empty() ? "bussi" : pressure.thermostat),
                   std::string(pressure.name)});
  for (const Case& one : {Case{"nose_hoover_of_one", "nose-hoover", "", {}, 1},
                          Case{"nose_hoover_anisotropic", "nose-hoover", "c-rescale", Edges::anisotropic},
                          Case{"langevin_semi_isotropic", "langevin", "c-rescale", Edges::semi_isotropic},
                          Case{"mtk_of_two", "nose-hoover", "mtk", Edges::isotropic, 2},
                          Case{"mtk_constant_area", "nose-hoover", "mtk", Edges::constant_area},
                          Case{"monte_carlo_anisotropic", "langevin", "monte-carlo", Edges::anisotropic},
                          Case{"berendsen_constant_area", "berendsen", "berendsen", Edges::constant_area}})
    all.push_back(one);
  for (auto& one : all) std::replace(one.name.begin(), one.name.end(), '-', '_');
  return all;
}

INSTANTIATE_TEST_SUITE_P(Bath, AllBaths, testing::ValuesIn(cases()), [](const auto& one) { return one.param.name; });

/// The work of a small change of the box is minus the derivative of the energy, as the barostat takes it.
TEST(GroupScalingVirial, IsTheDerivativeOfTheEnergy) {
  for (const bool rigid : {true, false}) {
    const auto& sample = warm_water(rigid);
    auto s = settings(rigid, true);
    const auto energy = [&](std::size_t edge, double change) {
      Simulation simulation(sample, s);
      std::array<double, 3> scale{1, 1, 1};
      scale[edge] += change;
      const auto& box = sample.system.box;
      simulation.engine.set_box(Box(scale[0] * box.a(), scale[1] * box.b(), scale[2] * box.c()));
      simulation.engine.compute_forces(true);
      simulation.engine.sum_energies();
      return simulation.engine.energies();
    };
    for (std::size_t edge = 0; edge < 3; ++edge) {
      const double h = 1e-4;
      const double slope = (energy(edge, h).potential() - energy(edge, -h).potential()) / (2 * h);
      const double virial = energy(edge, 0).group_scaling_virial[edge];
      // Ewald's mesh has an error of 1e-4 of its energies.
      EXPECT_NEAR(virial, -slope, 2e-3 * std::abs(slope) + 1) << "edge " << edge << (rigid ? " rigid" : " flexible");
    }
  }
}

}  // namespace
}  // namespace tessera::md::integrate
