// Compares the list with all pairs of all images.
#include "tessera/md/pair/pair_list.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tessera/md/pair/pair_forces.h"
#include "tessera/md/test_support/systems.h"
#include "tessera/md/topology.h"

namespace tessera::md::pair {
namespace {

using test::index;

/// Counts the images of a pair of atoms (lower id first) within range, interacting and excluded ones separately.
using Count = std::map<std::pair<std::int64_t, std::int64_t>, std::array<int, 2>>;

struct Listed {
  Count count;
  std::int64_t entries = 0, empty_entries = 0;  // an empty one has no pair of atoms within range
};

/// Distances this close to the range may be on either side in single precision.
constexpr double tolerance = 2e-5;

/// Makes a list as the sum does.
PairList list_of(const domain::Domain& domain, const PairForces& forces) {
  const auto& data = forces.data();
  PairList list;
  PairLister(domain, data.threads)
      .build(data.clusters, data.reach, data.exclusions, data.table_pairs, data.type,
             data.settings.range() + list_rounding, list);
  return list;
}

std::vector<PairListPart> all_parts(const PairList& list) {
  auto parts = list.inner;
  parts.insert(parts.end(), list.outer.begin(), list.outer.end());
  return parts;
}

Listed count_listed(const domain::Domain& domain, const PairForces& forces) {
  const auto list = list_of(domain, forces);
  const auto& reach = forces.data().reach;
  const auto& grid = domain.grid();
  const auto edges = domain.system().box.edges();
  std::vector<std::int32_t> cell_at(index(domain.n_clusters()));
  for (std::int32_t c = 0; c < domain.n_cells(); ++c)
    for (auto k = domain.first_cluster(c); k < domain.first_cluster(c + 1); ++k) cell_at[index(k)] = c;
  const auto relative = [&](std::int32_t slot) {
    const auto f = domain.state().position[index(slot)] - grid.centre(domain.cell(cell_at[index(slot / cluster_size)]));
    return Vec3{f.x * edges[0] / 4294967296.0, f.y * edges[1] / 4294967296.0, f.z * edges[2] / 4294967296.0};
  };
  Listed listed;
  for (const auto& part : all_parts(list))
    for (std::size_t row = 0; row < part.n_rows(); ++row) {
      const auto add = [&](PairEntry entry, unsigned interact, unsigned excluded) {
        const auto& s = list.shifts[cell_of(entry)];
        const Vec3 shift = {s[0], s[1], s[2]};
        int within = 0;
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 4; ++j) {
            const auto p = part.rows[row].i_cluster * 4 + i, q = cluster_of(entry) * 4 + j;
            if (domain.is_padding(p) || domain.is_padding(q)) continue;
            const double range = forces.settings().cutoff + reach[index(p)] + reach[index(q)] - tolerance;
            if (norm2(relative(p) - relative(q) - shift) >= range * range) continue;
            ++within;
            const auto bit = 1u << (4 * i + j);
            const auto ids = std::minmax(domain.state().id[index(p)], domain.state().id[index(q)]);
            if (interact & bit) ++listed.count[ids][0];
            if (excluded & bit) ++listed.count[ids][1];
          }
        ++listed.entries;
        listed.empty_entries += within == 0;
      };
      for (const auto& entry : part.masked_of(row)) add(entry.j, entry.interact, entry.excluded);
      for (const auto j : part.plain_of(row)) add(j, 0xFFFF, 0);
    }
  return listed;
}

Count count_all(const test::Sample& sample, const domain::Domain& domain, const PairForces& forces) {
  Count count;
  const auto reach = [&](std::int64_t id) { return forces.data().reach[index(domain.slot_of(id))]; };
  const auto& box = sample.system.box;
  const auto edges = box.edges();
  for (const auto& p : sample.particles)
    for (const auto& q : sample.particles) {
      if (q.id <= p.id) continue;
      const double range = forces.settings().cutoff + reach(p.id) + reach(q.id) - tolerance;
      const Vec3 nearest = box.displacement(domain.state().position[index(domain.slot_of(p.id))],
                                            domain.state().position[index(domain.slot_of(q.id))]);
      int n = 0;
      for (int x = -1; x <= 1; ++x)
        for (int y = -1; y <= 1; ++y)
          for (int z = -1; z <= 1; ++z)
            n += norm2(nearest + Vec3{x * edges[0], y * edges[1], z * edges[2]}) < range * range;
      if (n > 0) count[{p.id, q.id}][test::is_excluded(sample.system, p.id, q.id) ? 1 : 0] = n;
    }
  return count;
}

PairSettings settings_to(double cutoff) {
  PairSettings settings;
  settings.cutoff = cutoff;
  settings.switch_distance = cutoff - 1;
  settings.alpha = 3.12 / cutoff;
  settings.coulomb_constant = 332;
  return settings;
}

struct Case {
  std::int64_t n;  // along each edge
  double cutoff, buffer;
};

class PairListOfCells : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cells, PairListOfCells,
                         testing::Values(Case{2, 8, 1.5}, Case{2, 8, 4}, Case{3, 8, 1}, Case{3, 6, 1.5},
                                         Case{4, 6, 1.5}, Case{6, 6, 1}, Case{8, 5, 1}),
                         [](const auto& one) {
                           return "n" + std::to_string(one.param.n) + "cutoff" +
                                  std::to_string(static_cast<int>(one.param.cutoff)) + "buffer" +
                                  std::to_string(static_cast<int>(one.param.buffer));
                         });

TEST_P(PairListOfCells, HoldsEachPairWithinRangeOnce) {
  const auto [n, cutoff, buffer] = GetParam();
  const double range = cutoff + buffer, cell = 0.5 * range + 1.1 * 0.96;
  // The box is slightly larger than this many cells or twice the cut-off; its edges differ a little.
  const double edge = std::max(static_cast<double>(n) * cell, 2 * cutoff) + 1e-3;
  const auto sample = test::make_mixture(
      {.box = orthorhombic(edge, edge + 0.3, edge + 0.7), .with_nbfix = true, .seed = static_cast<std::uint64_t>(n)});
  ThreadPool threads(2);
  const auto comm = comm::Communicator::world();
  const auto grid =
      domain::plan_cell_grid(sample.system.box, {.list_range = range, .group_radius = group_radius(sample.system)});
  ASSERT_EQ(grid.n, (Index3{n, n, n}));
  auto state = test::state_in(sample.system.box);
  domain::Domain domain(sample.system, domain::plan_decomposition(grid, 1), state, comm, threads);
  auto particles = sample.particles;
  std::mt19937_64 random(3);
  std::normal_distribution<double> speed(0, 60 / velocity_unit);
  for (auto& particle : particles) particle.velocity = {static_cast<std::int32_t>(speed(random)), 0, 0};
  domain.distribute({particles, {}});
  const auto settings = settings_to(cutoff);
  PairForces forces(domain, settings, {.most_reach = 0.5 * buffer}, Precision::mixed, threads);
  forces.rebuild();
  forces.update(false);
  const auto expected = count_all(sample, domain, forces);
  const auto listed = count_listed(domain, forces);
  ASSERT_GT(expected.size(), 1000u);
  EXPECT_EQ(listed.count.size(), expected.size());
  for (const auto& [ids, count] : expected) {
    const auto found = listed.count.find(ids);
    ASSERT_NE(found, listed.count.end()) << "missing: atoms " << ids.first << " and " << ids.second;
    ASSERT_EQ(found->second, count) << "atoms " << ids.first << " and " << ids.second;
  }
  EXPECT_EQ(16 * listed.entries, forces.sum().n_evaluated());
  // Padding of two clusters may appear near, and small cells have much padding.
  EXPECT_LE(static_cast<double>(listed.empty_entries), 0.15 * static_cast<double>(listed.entries));
}

// A list lasts until an atom has moved beyond its reach; the next list is made for the current positions.
TEST(PairList, IsMadeAnewWhenAnAtomLeavesItsReach) {
  const auto sample = test::make_mixture({});
  ThreadPool threads(2);
  const auto comm = comm::Communicator::world();
  const auto grid =
      domain::plan_cell_grid(sample.system.box, {.list_range = 10, .group_radius = group_radius(sample.system)});
  auto state = test::state_in(sample.system.box);
  domain::Domain domain(sample.system, domain::plan_decomposition(grid, 1), state, comm, threads);
  auto particles = sample.particles;
  for (auto& particle : particles) particle.velocity = {static_cast<std::int32_t>(20 / velocity_unit), 0, 0};
  domain.distribute({particles, {}});
  const auto settings = settings_to(8);
  PairForces forces(domain, settings, {.steps = 4, .timestep = 0.002, .most_reach = 1}, Precision::mixed, threads);
  forces.rebuild();
  forces.update(false);
  ASSERT_EQ(forces.n_lists(), 1);
  const auto reach = static_cast<double>(forces.data().reach[0]);
  EXPECT_GT(reach, 4 * 0.8 * 0.04);
  EXPECT_LT(reach, 4 * (0.8 + 2) * 0.04 + 2e-3);
  const auto move = [&](double x) {
    state.position[0] = domain.state().position[0] + sample.system.box.fraction({x, 0, 0});
    forces.update(false);
  };
  move(0.9 * reach);
  EXPECT_EQ(forces.n_lists(), 1);
  move(0.2 * reach);
  EXPECT_EQ(forces.n_lists(), 2);
  // It was fast when that list was made and the others were at rest, so it has a large reach and they have hardly any.
  EXPECT_GT(forces.data().reach[0], 4 * 0.8 * 0.2 * reach);
  EXPECT_LT(forces.data().reach[1], 0.1 * reach);
  const auto expected = count_all(sample, domain, forces);
  EXPECT_EQ(count_listed(domain, forces).count.size(), expected.size());
  domain.rebuild();
  forces.rebuild();
  forces.update(false);
  EXPECT_EQ(forces.n_lists(), 3);
}

// Slots without an atom never move, so that a box that shrinks a little takes nothing from them.
TEST(PairList, LastsWhileTheBoxShrinksByLessThanItsReaches) {
  const auto sample = test::make_mixture({});
  ThreadPool threads(2);
  const auto comm = comm::Communicator::world();
  const auto& box = sample.system.box;
  const auto grid = domain::plan_cell_grid(box, {.list_range = 10, .group_radius = group_radius(sample.system)});
  auto state = test::state_in(box);
  domain::Domain domain(sample.system, domain::plan_decomposition(grid, 1), state, comm, threads);
  auto particles = sample.particles;
  for (auto& particle : particles) particle.velocity = {static_cast<std::int32_t>(20 / velocity_unit), 0, 0};
  domain.distribute({particles, {}});
  PairForces forces(domain, settings_to(8), {.steps = 4, .timestep = 0.002, .most_reach = 1}, Precision::mixed,
                    threads);
  forces.rebuild();
  forces.update(false);
  const auto reach = forces.data().reach[0];
  const auto shrink = [&](double by) {
    const auto before = state.box;
    state.box = stretched(before, {1 - by, 1, 1});
    forces.set_box(before);
    forces.update(false);
  };
  shrink(1e-4);
  EXPECT_EQ(forces.n_lists(), 1);
  EXPECT_LT(forces.data().reach[0], reach);
  shrink(0.1);
  EXPECT_EQ(forces.n_lists(), 2);
}

TEST(PairList, AClusterHasOneRowAtMost) {
  const auto sample = test::make_mixture({});
  ThreadPool threads(3);
  const auto comm = comm::Communicator::world();
  const auto grid =
      domain::plan_cell_grid(sample.system.box, {.list_range = 9, .group_radius = group_radius(sample.system)});
  auto state = test::state_in(sample.system.box);
  domain::Domain domain(sample.system, domain::plan_decomposition(grid, 1), state, comm, threads);
  domain.distribute({sample.particles, {}});
  const auto settings = settings_to(8);
  PairForces forces(domain, settings, {}, Precision::mixed, threads);
  forces.rebuild();
  forces.update(false);
  std::map<std::int32_t, int> times;
  const auto list = list_of(domain, forces);
  ASSERT_EQ(list.inner.size(), 3u);
  for (const auto& part : all_parts(list)) {
    ASSERT_FALSE(part.rows.empty());
    for (std::size_t row = 0; row < part.n_rows(); ++row) {
      ++times[part.rows[row].i_cluster];
      ASSERT_GT(part.masked_of(row).size() + part.plain_of(row).size(), 0u);
    }
  }
  EXPECT_GT(times.size(), 50u);
  for (const auto& [cluster, n] : times) EXPECT_EQ(n, 1) << cluster;
}

// In a domain cells are in order, clusters have four atoms with padding last, and every atom is in the cell of its
// group's key.
TEST(Domain, PutsGroupsIntoTheCellOfTheirKeyAtom) {
  const auto sample = test::make_mixture({});
  ThreadPool threads(2);
  const auto comm = comm::Communicator::world();
  const auto grid =
      domain::plan_cell_grid(sample.system.box, {.list_range = 9, .group_radius = group_radius(sample.system)});
  auto state = test::state_in(sample.system.box);
  domain::Domain domain(sample.system, domain::plan_decomposition(grid, 1), state, comm, threads);
  auto particles = sample.particles;
  domain.distribute({particles, {}});
  const auto ids = domain.state().id;
  EXPECT_EQ(domain.n_owned_atoms(), static_cast<std::int32_t>(sample.particles.size()));
  std::int32_t atoms = 0;
  for (std::int32_t c = 0; c < domain.n_cells(); ++c) {
    EXPECT_EQ(domain.local_cell(domain.cell(c)), c);
    bool padded = false;
    for (auto s = domain.first_cluster(c) * 4; s < domain.first_cluster(c + 1) * 4; ++s) {
      if (domain.is_padding(s)) {
        padded = true;
        EXPECT_GE(s, domain.first_cluster(c + 1) * 4 - 3);
        continue;
      }
      ASSERT_FALSE(padded) << "an atom after padding";
      ++atoms;
      const auto id = domain.state().id[index(s)];
      EXPECT_EQ(domain.slot_of(id), s);
      const auto reference = sample.system.find(id);
      const auto key = reference.first_id + domain.molecule_of(s).group[index(reference.local)];
      EXPECT_EQ(grid.cell_of(sample.particles[index(key)].position), domain.cell(c));
      EXPECT_EQ(domain.state().position[index(s)], sample.particles[index(id)].position);
      EXPECT_EQ(domain.state().local[index(s)], reference.local);
    }
  }
  EXPECT_EQ(atoms, domain.n_owned_atoms());
  EXPECT_EQ(domain.greatest_displacement2(), 0);
  state.position[0] = domain.state().position[0] + sample.system.box.fraction({0.3, 0, -0.4});
  EXPECT_NEAR(domain.greatest_displacement2(), 0.25, 1e-6);
  // The slots are the same for any order of the given atoms.
  std::reverse(particles.begin(), particles.end());
  domain.distribute({particles, {}});
  EXPECT_EQ(domain.state().id, ids);
  domain.rebuild();
  EXPECT_EQ(domain.state().id, ids);
}

}  // namespace
}  // namespace tessera::md::pair
