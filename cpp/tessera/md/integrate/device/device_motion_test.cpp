// Compares half steps of a device, as a host computes them, with the engine's: every bit must be the same.
#include "tessera/md/integrate/device/device_motion.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/device/test_support/device_of_host.h"
#include "tessera/md/integrate/constraint_forces.h"
#include "tessera/md/integrate/half_step_test_support.h"

namespace tessera::md::integrate {
namespace {

using namespace test;
using device::test::DeviceOfHost;

enum class Half { drift, drift_with_noise, project, virial, virial_of_state };

struct Found {
  State state;
  std::int64_t heat = 0;
  EnergyVirial of_constraints, within;
  bool has_failed = false;
};

/// Groups of every kind, `each` of a kind, with what moves them on a device and on processors.
class Groups {
 public:
  explicit Groups(int each) : sample(make_sample(each)), noise(sample.velocity.size()) {}

  Found engine(Half half) const {
    auto after = sample;
    Failure failure;
    Found found;
    const auto step = after.step();
    if (half == Half::drift) kick_and_drift(after.lists, 0, 1, step, failure);
    if (half == Half::project) kick_and_project(after.lists, 0, 1, step, failure, nullptr);
    if (half == Half::virial) {
      kick_and_project(after.lists, 0, 1, step, failure, &found.of_constraints);
      add_virial_within(after.lists, 0, 1, step, found.within);
    }
    if (half == Half::virial_of_state) add_constraint_virial(after.lists, 0, 1, step, failure, found.of_constraints);
    if (half == Half::drift_with_noise)
      found.heat = kick_and_drift_with_noise(after.lists, 0, 1, step, noise_of_step(), failure);
    found.state.position = after.position;
    found.state.velocity = after.velocity;
    found.has_failed = failure.slot >= 0;
    return found;
  }

  Found device(Half half, int seed) {
    DeviceOfHost::set("seed=" + std::to_string(seed));
    OnDevice on(*this);
    auto& [threads, atoms, motion, state] = on;
    const auto step = sample.step();
    if (half == Half::drift) motion.kick_and_drift(step);
    if (half == Half::project) motion.kick_and_project(step, false);
    if (half == Half::virial) {
      motion.clear_virials();
      motion.kick_and_project(step, true);
      motion.start_virial_within(step);
      motion.start_fetch_of_virials();
    }
    if (half == Half::virial_of_state) {
      motion.clear_virials();
      motion.start_constraint_virial(step);
      motion.start_fetch_of_virials();
    }
    if (half == Half::drift_with_noise) motion.kick_and_drift_with_noise(step, noise_of_step());
    motion.start_fetch_of_state();
    atoms.stream().wait();
    Found found;
    found.state = state;
    motion.copy_to(found.state);
    found.heat = motion.sums().heat;
    found.has_failed = motion.sums().n_failed > 0;
    if (half == Half::virial || half == Half::virial_of_state) {
      found.of_constraints = sums_of(motion.virials().of_constraints);
      found.within = sums_of(motion.virials().within);
    }
    return found;
  }

  std::vector<Fraction> moved_to(const Box& other) {
    OnDevice on(*this);
    on.motion.follow_box(box, other);
    on.motion.start_fetch_of_state();
    on.atoms.stream().wait();
    on.motion.copy_to(on.state);
    return on.state.position;
  }

  /// Returns what is done by the engine's rules: of one bath, where there are not several.
  FrictionAndNoise noise_of_step() const {
    auto one = noise.all;
    if (!has_baths) one.bath = nullptr;
    return one;
  }

  mutable Sample sample;
  Noise noise;
  bool has_baths = true;

 private:
  /// The groups on a device.
  struct OnDevice {
    explicit OnDevice(Groups& groups) : atoms(threads, groups.device_.get(), 1), motion(threads, atoms) {
      const auto& [lists, mass, position, velocity, force] = groups.sample;
      atoms.rebuild(position.size());
      motion.set_groups(lists, groups.noise.id, std::vector<double>(position.size()),
                        groups.has_baths ? groups.noise.bath : std::vector<std::uint8_t>());
      state.position = position;
      state.velocity = velocity;
      motion.start_from(state);
      std::copy(force.begin(), force.end(), atoms.total(0));  // the device's memory is the host's
    }

    ThreadPool threads{2};
    DeviceAtoms atoms;
    DeviceMotion motion;
    State state;
  };

  static EnergyVirial sums_of(const GroupVirial& virial) {
    EnergyVirial sums;
    std::ranges::copy(virial.virial, sums.virial.begin());
    std::ranges::copy(virial.of_clashes, sums.virial_of_clashes.begin());
    return sums;
  }

  DeviceOfHost device_;
};

void expect_same_bits(const Found& device, const Found& engine) {
  EXPECT_EQ(device.state.position, engine.state.position);
  EXPECT_EQ(device.state.velocity, engine.state.velocity);
  EXPECT_EQ(device.heat, engine.heat);
  EXPECT_EQ(device.has_failed, engine.has_failed);
  for (const auto sums : {&Found::of_constraints, &Found::within}) {
    EXPECT_EQ((device.*sums).virial, (engine.*sums).virial);
    EXPECT_EQ((device.*sums).virial_of_clashes, (engine.*sums).virial_of_clashes);
  }
}

/// Compares all half steps on every instruction set of the engine and in three orders of warps.
void check(Groups& groups) {
  for (const auto half : {Half::drift, Half::drift_with_noise, Half::project, Half::virial, Half::virial_of_state}) {
    SCOPED_TRACE(static_cast<int>(half));
    const auto device = groups.device(half, 1);
    for (const int seed : {2, 3}) expect_same_bits(groups.device(half, seed), device);
    tessera::test::for_instruction_sets([&] { expect_same_bits(device, groups.engine(half)); });
  }
}

TEST(DeviceMotion, HasTheBitsOfTheEngine) {
  TESSERA_NEEDS_HOST_LANES();
  for (const int each : {1, 3, 33, 70}) {
    SCOPED_TRACE(each);
    Groups groups(each);
    EXPECT_FALSE(groups.engine(Half::drift).has_failed);
    check(groups);
    groups.has_baths = false;
    check(groups);
  }
}

// A group that is too fast, or whose constraints can't be kept, stops as it does on processors.
TEST(DeviceMotion, StopsGroupsThatFail) {
  TESSERA_NEEDS_HOST_LANES();
  Groups groups(33);
  for (auto& list : groups.sample.lists) {
    const auto n = static_cast<std::size_t>(list.kind.group.n_atoms);
    auto* force = &groups.sample.force[3 * index(list.slots[5 * n])];
    force[0] = std::int64_t{1} << 60;
    if (n > 1) groups.sample.velocity[index(list.slots[7 * n + 1])] = {900'000'000, 100'000'000, -900'000'000};
  }
  EXPECT_TRUE(groups.engine(Half::drift).has_failed);
  check(groups);
}

// Groups go with their first atoms into other boxes, also triclinic ones.
TEST(DeviceMotion, GroupsFollowTheBox) {
  TESSERA_NEEDS_HOST_LANES();
  for (const auto& other : {orthorhombic(40.3, 40.9, 41.5), Box({39.7, 0, 0}, {3.1, 40.8, 0}, {-2.3, 5.7, 42.2})}) {
    Groups groups(33);
    auto expected = groups.sample.position;
    for (const auto& list : groups.sample.lists) {
      const auto n = static_cast<std::size_t>(list.kind.group.n_atoms);
      for (std::size_t i = 0; i < list.slots.size(); ++i) {
        const auto first = groups.sample.position[index(list.slots[i - i % n])];
        auto& place = expected[index(list.slots[i])];
        if (i % n > 0) place = first + other.fraction(box.displacement(first, place));
      }
    }
    EXPECT_EQ(groups.moved_to(other), expected);
  }
}

// Lists of one warp, and none at all.
TEST(DeviceMotion, ListsMayBeEmpty) {
  TESSERA_NEEDS_HOST_LANES();
  Groups groups(2);
  for (std::size_t l = 0; l < groups.sample.lists.size(); l += 2) groups.sample.lists[l].slots.clear();
  check(groups);
}

}  // namespace
}  // namespace tessera::md::integrate
