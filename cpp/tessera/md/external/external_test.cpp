// External forces: on a rank's own atoms, on listed atoms of all ranks, and through searches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md::external {
namespace {

using namespace test;

constexpr double stiffness = 5;  // kcal/mol/Å²

/// Returns the forces of springs that hold each oxygen to where it was at the start.
ExternalResult springs(const ExternalAtoms& atoms, const std::map<std::int64_t, Vec3>& anchor) {
  ExternalResult result;
  for (std::size_t i = 0; i < atoms.id.size(); ++i) {
    result.force.push_back({});
    const auto found = anchor.find(atoms.id[i]);
    if (found == anchor.end()) continue;
    const auto d = atoms.box.displacement(atoms.box.fraction(found->second), atoms.box.fraction(atoms.position[i]));
    result.force.back() = -stiffness * d;
    result.energy.push_back(0.5 * stiffness * norm2(d));
    result.virial.push_back({-stiffness * d.x * d.x, -stiffness * d.y * d.y, -stiffness * d.z * d.z, 0, 0, 0});
  }
  return result;
}

struct End {
  std::vector<Particle> atoms;  // by id
  Energies energies;
  double drift = 0;  // of the total energy, kcal/mol
};

End run(int n_ranks, bool is_listed) {
  const auto& sample = warm_water(true);
  std::map<std::int64_t, Vec3> anchor;
  std::vector<std::int64_t> oxygens;
  for (std::int64_t id = 0; id < sample.system.n_atoms(); id += 3) {
    // Some bonds cross the boundary; anchors are a little beside the atoms.
    anchor[id] = sample.system.box.cartesian(sample.particles[index(id)].position) + Vec3{0.1, 0, 0};
    oxygens.insert(oxygens.begin(), id);
  }
  End end;
  std::mutex mutex;
  comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads(2);
    auto engine = make_engine(sample.system, settings(true, false), comm, threads);
    auto start = snapshot_of(sample);
    if (!comm.is_root()) start.atoms.clear();
    engine.set_state(start);
    auto force = std::make_shared<ExternalForce>();
    if (is_listed) force->atoms = oxygens;
    force->function = [&](const ExternalAtoms& atoms) { return springs(atoms, anchor); };
    engine.set_external_forces({force});
    engine.measure();
    EXPECT_NEAR(engine.energies()[Term::external], 216 * 0.5 * stiffness * 0.01, 1e-5);
    const double first = engine.energies().total();
    for (int i = 0; i < 100; ++i) engine.step(i == 99);
    const auto own = engine.snapshot();
    const std::lock_guard lock(mutex);
    end.atoms.insert(end.atoms.end(), own.atoms.begin(), own.atoms.end());
    end.energies = engine.energies();
    end.drift = engine.energies().total() - first;
  });
  std::sort(end.atoms.begin(), end.atoms.end(), [](const auto& p, const auto& q) { return p.id < q.id; });
  return end;
}

TEST(External, IsTheSameOnAnyRanksOfOwnAndListedAtoms) {
  const auto expected = run(1, false);
  EXPECT_GT(expected.energies[Term::external], 1);
  EXPECT_LT(std::abs(expected.drift), 0.3);
  for (const auto& [n_ranks, is_listed] : {std::pair(3, false), std::pair(1, true), std::pair(4, true)}) {
    const auto found = run(n_ranks, is_listed);
    EXPECT_EQ(found.energies.term, expected.energies.term);
    EXPECT_EQ(found.energies.virial, expected.energies.virial);
    ASSERT_EQ(found.atoms.size(), expected.atoms.size());
    for (std::size_t i = 0; i < found.atoms.size(); ++i)
      ASSERT_TRUE(found.atoms[i].velocity == expected.atoms[i].velocity &&
                  found.atoms[i].displacement == expected.atoms[i].displacement);
  }
}

TEST(External, MayBeRemoved) {
  Simulation simulation(warm_water(true), settings(true, false));
  const auto without = simulation.engine.energies();
  auto push = std::make_shared<ExternalForce>();
  push->atoms = {3};
  push->function = [](const ExternalAtoms&) { return ExternalResult{{{1, -2, 3}}, {7}, {{1, 2, 3, 4, 5, 6}}}; };
  const auto slot = simulation.engine.domain().slot_of(3);
  const auto force = simulation.engine.force(slot);
  simulation.engine.set_external_forces({push, push});
  simulation.engine.measure();
  EXPECT_EQ(simulation.engine.energies()[Term::external], 14);
  EXPECT_LT(norm(simulation.engine.force(slot) - force - Vec3{2, -4, 6}), 1e-8);
  simulation.engine.set_external_forces({});
  simulation.engine.measure();
  EXPECT_EQ(simulation.engine.energies().term, without.term);
  EXPECT_LT(norm(simulation.engine.force(slot) - force), 1e-12);
}

}  // namespace
}  // namespace tessera::md::external
