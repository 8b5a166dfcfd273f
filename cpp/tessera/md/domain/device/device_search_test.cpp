// Compares the order into which a device sorts atoms, as a host runs its kernels, with that of the domain.
#include "tessera/md/domain/device/device_search.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tessera/base/index.h"
#include "tessera/base/simd/lane/host_lanes.h"
#include "tessera/comm/communicator.h"
#include "tessera/device/test_support/device_of_host.h"
#include "tessera/md/test_support/systems.h"
#include "tessera/md/topology.h"

namespace tessera::md::domain {
namespace {

using device::test::DeviceOfHost;

/// Holds a sample's atoms in their slots here, and on a device that has taken them from here.
class Atoms {
 public:
  Atoms(const md::test::Sample& sample, double list_range)
      : system_(sample.system),
        state_(md::test::state_in(system_.box)),
        domain_(system_,
                plan_decomposition(
                    plan_cell_grid(system_.box, {.list_range = list_range, .group_radius = group_radius(system_)}), 1),
                state_, comm_, threads_),
        on_device_(threads_, device_.get(), 1),
        search_(domain_, on_device_) {
    domain_.distribute({sample.particles, {}});
    take();
  }

  Domain& domain() { return domain_; }
  State& state() { return state_; }
  DeviceSearch& search() { return search_; }
  /// Lets the device take all from here.
  void take() {
    on_device_.rebuild(at(domain_.n_slots()));
    search_.forget_atoms();
    take_positions();
  }
  void take_positions() { on_device_.start_positions(state_.position); }
  /// Lets the device search, with warps in an order that the seed tells, and fetches what it has found.
  bool search(int seed) {
    DeviceOfHost::set("seed=" + std::to_string(seed));
    if (search_.search() == nullptr) return false;
    search_.start_fetch();
    on_device_.start_fetch_of_positions();
    on_device_.stream().wait();
    return true;
  }
  const DeviceAtoms& on_device() const { return on_device_; }

 private:
  model::System system_;
  State state_;
  comm::Communicator comm_ = comm::Communicator::world();
  ThreadPool threads_{2};
  Domain domain_;
  DeviceOfHost device_;
  DeviceAtoms on_device_;
  DeviceSearch search_;
};

void expect_order_of_domain(Atoms& atoms) {
  const auto& state = atoms.state();
  const auto found = atoms.search().atoms();
  ASSERT_EQ(found.size(), state.id.size());
  for (std::size_t s = 0; s < found.size(); ++s) {
    ASSERT_EQ(found[s], state.id[s]) << "slot " << s;
    ASSERT_EQ(atoms.search().references()[s], state.reference[s]) << "slot " << s;
    ASSERT_EQ(atoms.on_device().staged_positions()[s], state.position[s]) << "slot " << s;
  }
}

// Several searches, between which atoms go to other cells.
TEST(DeviceSearch, FindsTheOrderOfTheDomain) {
  TESSERA_NEEDS_HOST_LANES();
  for (const double range : {6.0, 9.0, 16.0}) {  // few atoms in a cell, or many
    SCOPED_TRACE(range);
    Atoms atoms(md::test::make_mixture({.seed = 5}), range);
    std::mt19937 random(3);
    std::int32_t most = 0;
    for (int seed = 1; seed <= 6; ++seed) {
      // Half of the searches go on from slots of the device, which has moved atoms likewise.
      std::vector<Fraction> moved(at(atoms.domain().system().n_atoms()));
      std::uniform_int_distribution<std::int32_t> far(-200'000'000, 200'000'000), tie(0, 1);
      for (auto& by : moved) by = {far(random), far(random), tie(random) << 28};
      for (std::size_t s = 0; s < atoms.state().id.size(); ++s)
        if (atoms.state().id[s] >= 0)
          atoms.state().position[s] = atoms.state().position[s] + moved[at(atoms.state().id[s])];
      if (seed % 2 == 0) atoms.take();
      atoms.take_positions();
      ASSERT_TRUE(atoms.search(seed));
      atoms.domain().rebuild();
      expect_order_of_domain(atoms);
      for (std::int32_t cell = 0; cell < atoms.domain().n_cells(); ++cell)
        most = std::max(most, atoms.domain().first_cluster(cell + 1) - atoms.domain().first_cluster(cell));
    }
    EXPECT_GE(most, range > 10 ? 8 : 2);  // clusters
  }
}

// Atoms in one place are sorted by their numbers. A cell with too many is left to processors, and nothing has changed.
TEST(DeviceSearch, LeavesFullCellsToProcessors) {
  TESSERA_NEEDS_HOST_LANES();
  Atoms atoms(md::test::make_mixture({.seed = 6}), 9);
  const auto before = atoms.state().position;
  const auto gather = [&](std::int64_t n) {
    for (std::size_t s = 0; s < before.size(); ++s) {
      const auto id = atoms.state().id[s];
      atoms.state().position[s] = id >= 0 && id < n ? Fraction{1 << 20, 1 << 20, 1 << 20} : before[s];
    }
    atoms.take_positions();
  };
  gather(most_atoms_of_cell + 1);
  EXPECT_FALSE(atoms.search(1));
  gather(60);
  ASSERT_TRUE(atoms.search(2));
  atoms.domain().rebuild();
  expect_order_of_domain(atoms);
}

}  // namespace
}  // namespace tessera::md::domain
