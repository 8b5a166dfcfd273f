// Tests that replicated data change no bit of a run, and that ranks have even shares of the pairs.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <vector>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/test_support/barostat.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md {
namespace {

using namespace test;

EngineSettings replicated(EngineSettings s) {
  s.is_replicated = true;
  return s;
}

void expect_equal(const Course& found, const Course& expected) {
  EXPECT_TRUE(found.end.box == expected.end.box);
  EXPECT_EQ(found.energies.term, expected.energies.term);
  EXPECT_EQ(found.energies.kinetic, expected.energies.kinetic);
  EXPECT_EQ(found.energies.virial, expected.energies.virial);
  ASSERT_EQ(found.end.atoms.size(), expected.end.atoms.size());
  for (std::size_t i = 0; i < found.end.atoms.size(); ++i) {
    ASSERT_EQ(found.end.atoms[i].position, expected.end.atoms[i].position) << i;
    ASSERT_EQ(found.end.atoms[i].displacement, expected.end.atoms[i].displacement) << i;
    ASSERT_EQ(found.end.atoms[i].velocity, expected.end.atoms[i].velocity) << i;
  }
}

/// Runs as `s` says on one rank, and with replicated data on several, and from a state that the other mode has left.
void expect_same_bits(const Sample& sample, const EngineSettings& s, const std::vector<int>& several) {
  constexpr int n_steps = 35, n_more = 12;
  const auto run = [&](const EngineSettings& its, const Snapshot& from, int ranks, int steps) {
    return run_with_barostat(sample.system, its, from, 500, ranks, steps);
  };
  const auto start = snapshot_of(sample);
  const auto expected = run(s, start, 1, n_steps);
  EXPECT_GT(expected.cells.size(), 2u) << "atoms are sorted on the way";
  for (const int ranks : several) {
    SCOPED_TRACE(ranks);
    const auto found = run(replicated(s), start, ranks, n_steps);
    expect_equal(found, expected);
    expect_equal(run(replicated(s), expected.end, ranks, n_more), run(s, found.end, 4, n_more));
  }
}

TEST(Replicated, RigidWaterOnAMeshInABoxThatChanges) {
  expect_same_bits(warm_water(true), settings(true, false), {2, 3, 5, 7});
}

TEST(Replicated, FlexibleWaterWithACutOffAndThreeTimeSteps) {
  auto s = settings(false, true);
  s.pair.electrostatics = pair::Electrostatics::shift;
  s.force_groups.group_of = {0, 1, 2, 0};
  expect_same_bits(warm_water(false), s, {3});
}

/// Returns how many pairs of atoms each rank has listed.
std::vector<std::int64_t> listed_pairs(const Sample& sample, const EngineSettings& s, int ranks) {
  std::vector<std::int64_t> pairs(index(ranks));
  comm::run_ranks(ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads;
    auto engine = make_engine(sample.system, s, comm, threads);
    auto start = snapshot_of(sample);
    if (!comm.is_root()) start.atoms.clear();
    engine.set_state(start);
    engine.compute_forces(false);
    pairs[index(comm.rank())] = engine.forces().pairs().sum().n_evaluated();
  });
  return pairs;
}

TEST(Replicated, PairsAreSharedEvenlyWhereCellsAreNot) {
  const auto& sample = warm_water(true);
  const auto s = settings(true, false);
  const auto all = listed_pairs(sample, s, 1).front();
  const auto most = [](const std::vector<std::int64_t>& pairs) {
    return *std::max_element(pairs.begin(), pairs.end());
  };
  for (const int ranks : {3, 7}) {
    const auto shared = listed_pairs(sample, replicated(s), ranks);
    EXPECT_EQ(std::accumulate(shared.begin(), shared.end(), std::int64_t{0}), all) << "each pair once";
    EXPECT_LT(static_cast<double>(most(shared)), 1.15 * static_cast<double>(all) / ranks);
  }
  EXPECT_GT(static_cast<double>(most(listed_pairs(sample, s, 7))), 1.2 * static_cast<double>(all) / 7);
}

}  // namespace
}  // namespace tessera::md
