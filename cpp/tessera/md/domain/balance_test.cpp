// Tests how cells move by the seconds that ranks have worked. These are given, as what a machine measures depends on
// its load: every atom costs its rank a second. Ranks are threads of this process.
#include "tessera/md/domain/balance.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/md/test_support/systems.h"
#include "tessera/md/topology.h"

namespace tessera::md::domain {
namespace {

/// Returns a mixture in one half of a box along x, with a vacuum in the other.
test::Sample half_empty() {
  auto sample = test::make_mixture({.box = orthorhombic(32, 32, 32)});
  sample.system.box = orthorhombic(64, 32, 32);
  for (auto& particle : sample.particles) particle.position.x = particle.position.x / 2 + (1 << 30);
  return sample;
}

/// Returns the imbalance that was found at each of several looks; cells have moved after each, where that is worth it.
std::vector<double> imbalances(const test::Sample& sample, int ranks, int looks) {
  std::vector<double> found(static_cast<std::size_t>(looks));
  comm::run_ranks(ranks, [&](const comm::Communicator& comm) {
    ThreadPool threads;
    const auto grid = plan_cell_grid(sample.system.box, {.list_range = 7, .group_radius = group_radius(sample.system)});
    auto decomposition = plan_decomposition(grid, ranks);
    for (auto& imbalance : found) {
      auto state = test::state_in(sample.system.box);
      Domain domain(sample.system, decomposition, state, comm, threads);
      domain.distribute({comm.is_root() ? sample.particles : std::vector<Particle>{}, {}});
      auto balance = find_balance(domain, domain.n_owned_atoms(), comm);
      if (comm.is_root()) imbalance = balance.imbalance;
      if (balance.better) decomposition = std::move(*balance.better);
    }
  });
  return found;
}

TEST(Balance, HalfOfTheRanksHaveNothingAtFirst) {
  const auto sample = half_empty();
  for (const int ranks : {2, 4, 6, 8}) {
    const auto found = imbalances(sample, ranks, 3);
    EXPECT_GE(found.front(), 2) << ranks;
    EXPECT_LT(found.back(), 1.25) << ranks << " ranks: bricks of whole cells are not all equal";
  }
}

TEST(Balance, BricksMayFitByChance) {
  // A third of the box is the smallest brick of three; none of them is empty.
  const auto found = imbalances(half_empty(), 3, 2);
  EXPECT_LT(found.front(), 1.7);
  EXPECT_LE(found.back(), found.front());
}

TEST(Balance, EvenWorkStaysWhereItIs) {
  comm::run_ranks(4, [](const comm::Communicator& comm) {
    const auto sample = half_empty();
    ThreadPool threads;
    auto state = test::state_in(sample.system.box);
    const auto grid = plan_cell_grid(sample.system.box, {.list_range = 7, .group_radius = group_radius(sample.system)});
    Domain domain(sample.system, plan_decomposition(grid, 4), state, comm, threads);
    domain.distribute({comm.is_root() ? sample.particles : std::vector<Particle>{}, {}});
    EXPECT_FALSE(find_balance(domain, 1, comm).better) << "as long on each rank, whatever it holds";
    EXPECT_FALSE(find_balance(domain, comm.is_root() ? 1.04 : 1, comm).better) << "what is tolerated";
    EXPECT_FALSE(find_balance(domain, 0, comm).better) << "nobody has worked";
  });
}

}  // namespace
}  // namespace tessera::md::domain
