// Compares bonded terms of a device, as a host computes them, with the engine's: every bit must be the same.
#include "tessera/md/bonded/device/device_bonded.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tessera/device/test_support/device_of_host.h"
#include "tessera/md/bonded/bonded_test_support.h"

namespace tessera::md::bonded {
namespace {

using namespace test;
using device::test::DeviceOfHost;

struct Found {
  std::vector<std::int64_t> force;
  EnergyVirial sums;
};

/// Holds terms of every kind in a chain, and what computes them on a device.
class Chain {
 public:
  Chain(std::int32_t n, double least_distance)
      : tables_(make_force_tables(every_kind(1))), terms_(chain_terms(n)), bonded_(tables_, atoms_) {
    std::mt19937_64 random(17);
    auto r = random_chain(random, n);
    for (std::size_t i = 6; i < r.size(); i += 6) r[i] = r[i - 3] + least_distance * Vec3{0.6, 0, 0.8};
    position_ = fractions(box_, r);
    for (std::int32_t i = 0; i < n; ++i) charge_.push_back(0.1 * (i % 5) - 0.2);
    atoms_.rebuild(position_.size());
    bonded_.set_terms(terms_, charge_);
  }

  Found engine(bool with_sums) {
    return found_by(with_sums, [&](Accumulator& a) { add_all(box_, position_, charge_, terms_, tables_, 0, 1, a); });
  }
  Found device(bool with_sums, int seed) {
    DeviceOfHost::set("seed=" + std::to_string(seed));
    return found_by(with_sums, [&](Accumulator& a) {
      atoms_.start(position_, all_groups);
      bonded_.start(box_, atoms_.total(0), with_sums);
      atoms_.fetch(1);
      atoms_.add_to(0, a.total);
      if (with_sums) bonded_.add_sums(*a.energies);
    });
  }

 private:
  template <class Add>
  Found found_by(bool with_sums, const Add& add) {
    Found found{std::vector<std::int64_t>(3 * position_.size(), 5), {}};  // it is added to what is there
    Accumulator accumulator(found.force, with_sums ? &found.sums : nullptr);
    add(accumulator);
    return found;
  }

  const Box box_{{300, 0, 0}, {40, 310, 0}, {-30, 50, 290}};
  ThreadPool threads_{1};
  DeviceOfHost device_;
  DeviceAtoms atoms_{threads_, device_.get(), 1};
  ForceTables tables_;
  LocalTerms terms_;
  DeviceBonded bonded_;
  std::vector<Fraction> position_;
  std::vector<double> charge_;
};

void expect_same_bits(const Found& device, const Found& engine) {
  EXPECT_EQ(device.force, engine.force);
  EXPECT_EQ(device.sums.energy, engine.sums.energy);
  EXPECT_EQ(device.sums.energy_of_clashes, engine.sums.energy_of_clashes);
  EXPECT_EQ(device.sums.virial, engine.sums.virial);
  EXPECT_EQ(device.sums.virial_of_clashes, engine.sums.virial_of_clashes);
  EXPECT_EQ(device.sums.clashes.is_energy_limited, engine.sums.clashes.is_energy_limited);
}

/// Compares forces alone and all sums, on every instruction set of the engine and in three orders of warps.
void check(Chain& chain) {
  for (const bool with_sums : {false, true}) {
    SCOPED_TRACE(with_sums ? "all sums" : "forces alone");
    const auto device = chain.device(with_sums, 1);
    for (const int seed : {2, 3}) expect_same_bits(chain.device(with_sums, seed), device);
    tessera::test::for_instruction_sets([&] { expect_same_bits(device, chain.engine(with_sums)); });
  }
}

TEST(DeviceBonded, HasTheBitsOfTheEngine) {
  TESSERA_NEEDS_HOST_LANES();
  for (const std::int32_t n : {5, 23, 700}) {
    SCOPED_TRACE(n);
    Chain chain(n, 2);
    check(chain);
  }
}

// Energies beyond large_energy are summed in two parts, and those of atoms at one place are limited.
TEST(DeviceBonded, EnergiesOfClashes) {
  TESSERA_NEEDS_HOST_LANES();
  for (const double distance : {0.2, 0.0}) {
    SCOPED_TRACE(distance);
    Chain chain(61, distance);
    check(chain);
    const auto sums = chain.engine(true).sums;
    EXPECT_NE(sums.energy_of_clashes[static_cast<std::size_t>(Term::lj_14)], 0);
    EXPECT_EQ(sums.clashes.is_energy_limited, distance == 0);
  }
}

}  // namespace
}  // namespace tessera::md::bonded
