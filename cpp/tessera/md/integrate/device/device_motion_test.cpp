// Compares half steps of a device, as a host computes them, with the engine's: every bit must be the same.
#include "tessera/md/integrate/device/device_motion.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/device/test_support/device_of_host.h"
#include "tessera/md/integrate/half_step_test_support.h"

namespace tessera::md::integrate {
namespace {

using namespace test;
using device::test::DeviceOfHost;

enum class Half { drift, drift_with_noise, project };

struct Found {
  State state;
  std::int64_t heat = 0;
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
    if (half == Half::drift_with_noise)
      found.heat = kick_and_drift_with_noise(after.lists, 0, 1, step, noise_of_step(), failure);
    found.state.position = after.position;
    found.state.velocity = after.velocity;
    found.has_failed = failure.slot >= 0;
    return found;
  }

  Found device(Half half, int seed) {
    DeviceOfHost::set("seed=" + std::to_string(seed));
    ThreadPool threads(2);
    DeviceAtoms atoms(threads, device_.get(), 1);
    DeviceMotion motion(threads, atoms);
    const auto n = sample.position.size();
    atoms.rebuild(n);
    motion.set_groups(sample.lists, noise.id, std::vector<double>(noise.id.size()),
                      has_baths ? noise.bath : std::vector<std::uint8_t>());
    State state;
    state.position = sample.position;
    state.velocity = sample.velocity;
    motion.start_from(state);
    std::copy(sample.force.begin(), sample.force.end(), atoms.total(0));  // the device's memory is the host's
    const auto step = sample.step();
    if (half == Half::drift) motion.kick_and_drift(step);
    if (half == Half::project) motion.kick_and_project(step);
    if (half == Half::drift_with_noise) motion.kick_and_drift_with_noise(step, noise_of_step());
    motion.start_fetch_of_state();
    atoms.stream().wait();
    Found found;
    found.state = state;
    motion.copy_to(found.state);
    found.heat = motion.sums().heat;
    found.has_failed = motion.sums().n_failed > 0;
    return found;
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
  DeviceOfHost device_;
};

void expect_same_bits(const Found& device, const Found& engine) {
  EXPECT_EQ(device.state.position, engine.state.position);
  EXPECT_EQ(device.state.velocity, engine.state.velocity);
  EXPECT_EQ(device.heat, engine.heat);
  EXPECT_EQ(device.has_failed, engine.has_failed);
}

/// Compares all half steps on every instruction set of the engine and in three orders of warps.
void check(Groups& groups) {
  for (const auto half : {Half::drift, Half::drift_with_noise, Half::project}) {
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

// Lists of one warp, and none at all.
TEST(DeviceMotion, ListsMayBeEmpty) {
  TESSERA_NEEDS_HOST_LANES();
  Groups groups(2);
  for (std::size_t l = 0; l < groups.sample.lists.size(); l += 2) groups.sample.lists[l].slots.clear();
  check(groups);
}

}  // namespace
}  // namespace tessera::md::integrate
