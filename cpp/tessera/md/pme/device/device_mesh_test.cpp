// Compares the particle mesh of a device, as a host computes it, with the engine's: every bit must be the same.
#include "tessera/md/pme/device/device_mesh.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/base/test_support/instruction_sets.h"
#include "tessera/device/test_support/device_of_host.h"
#include "tessera/fft/schemes.h"
#include "tessera/md/pme/pme.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md::pme {
namespace {

using device::test::DeviceOfHost;

struct Charges {
  std::vector<Fraction> position;
  std::vector<float> charge;  // some are zero, as those of padding are
};

Charges random_charges(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const auto any = [&] { return static_cast<std::int32_t>(random()); };
  Charges charges;
  for (std::size_t i = 0; i < n; ++i) {
    charges.position.push_back({any(), any(), any()});
    charges.charge.push_back(i % 7 == 3 ? 0 : uniform(random));
  }
  return charges;
}

struct Found {
  std::vector<std::int64_t> force;
  EnergyVirial energies;
};

constexpr double coulomb_constant = 332.0637;
const Box skewed({21, 0, 0}, {4, 22, 0}, {-3, 5, 19});

PmePlan plan_of(const PmeSettings& settings, const Box& box) {
  return plan_pme(settings, box.heights(), {3, 3, 3}, {{{0, 0, 0}, {3, 3, 3}}}, 0.5, fft::plan_pencil);
}

/// Holds a mesh on both.
class Meshes {
 public:
  Meshes(const PmeSettings& settings, const Box& box, const Charges& charges)
      : charges_(charges),
        plan_(plan_of(settings, box)),
        pme_(plan_, box, coulomb_constant, comm_, threads_),
        atoms_(threads_, device_.get(), 1),
        mesh_(plan_, atoms_) {
    EXPECT_TRUE(DeviceMesh::serves(plan_));
    atoms_.rebuild(charges.charge.size());
    mesh_.set_charges(charges.charge);
    set_box(box);
  }

  void set_box(const Box& box) {
    pme_.set_box(box);
    mesh_.set_box(pme_.influence(), pme_.gradient_to_force());
  }
  Found engine() {
    Found found = nothing();
    Accumulator accumulator(found.force, nullptr);
    pme_.spread(charges_.position, charges_.charge);
    pme_.forward();
    pme_.solve(&found.energies);
    pme_.backward();
    pme_.add_forces(charges_.position, charges_.charge, std::ssize(charges_.charge), std::span(&accumulator, 1));
    return found;
  }
  Found device(bool with_energies, int seed) {
    DeviceOfHost::set("seed=" + std::to_string(seed));
    Found found = nothing();
    atoms_.start(charges_.position, all_groups);
    mesh_.start(atoms_.total(0), with_energies);
    atoms_.fetch(1);
    atoms_.add_to(0, found.force);
    EXPECT_FALSE(mesh_.had_too_much_charge());
    if (with_energies) pme_.add_energies(mesh_.spectrum(), found.energies);
    return found;
  }

 private:
  Found nothing() const {
    return {std::vector<std::int64_t>(3 * charges_.charge.size(), 5), {}};
  }  // adds to what is there

  const Charges& charges_;
  comm::Communicator comm_ = comm::Communicator::world();
  ThreadPool threads_{1};
  DeviceOfHost device_;
  PmePlan plan_;
  Pme<float> pme_;
  DeviceAtoms atoms_;
  DeviceMesh mesh_;
};

void expect_same_bits(const Found& device, const Found& engine, bool with_energies) {
  EXPECT_EQ(device.force, engine.force);
  if (!with_energies) return;
  EXPECT_EQ(device.energies.energy, engine.energies.energy);
  EXPECT_EQ(device.energies.virial, engine.energies.virial);
  EXPECT_NE(device.energies.energy, EnergyVirial().energy);
}

TEST(DeviceMesh, HasTheBitsOfTheEngine) {
  TESSERA_NEEDS_HOST_LANES();
  for (const int order : {4, 6, 8})
    for (const Index3 grid : {Index3{24, 25, 21}, Index3{10, 32, 36}, Index3{8, 9, 6}}) {
      if (grid[2] < order) continue;  // else a spline may be as long as the mesh
      SCOPED_TRACE("order " + std::to_string(order) + ", mesh along x " + std::to_string(grid[0]));
      const auto charges = random_charges(101, static_cast<unsigned>(order));
      Meshes meshes({order, 0.3, grid}, skewed, charges);
      for (const Box& box : {skewed, Box({23, 0, 0}, {0, 24, 0}, {0, 0, 25})}) {
        meshes.set_box(box);
        const auto device = meshes.device(true, 1);
        expect_same_bits(meshes.device(false, 2), device, false);
        expect_same_bits(meshes.device(true, 3), device, true);
        tessera::test::for_instruction_sets([&] { expect_same_bits(device, meshes.engine(), true); });
      }
    }
}

TEST(DeviceMesh, FindsTooMuchCharge) {
  TESSERA_NEEDS_HOST_LANES();
  DeviceOfHost device;
  ThreadPool threads(1);
  const auto plan = plan_of({4, 0.3, {24, 24, 24}}, skewed);
  DeviceAtoms atoms(threads, device.get(), 1);
  atoms.rebuild(7);
  DeviceMesh mesh(plan, atoms);
  for (const auto& [charge, is_too_much] : {std::pair(30.0F, false), {-30.0F, false}, {35.0F, true}, {-35.0F, true}}) {
    const std::vector<Fraction> position(7);  // on a point, which has (2/3)³ of the charge
    const std::vector<float> all(7, charge);
    mesh.set_charges(all);
    atoms.start(position, all_groups);
    mesh.start(atoms.total(0), false);
    atoms.fetch(1);
    EXPECT_EQ(mesh.had_too_much_charge(), is_too_much) << charge;
  }
}

TEST(DeviceMesh, IsMadeOnAnyThread) {
  DeviceOfHost device;
  ThreadPool threads(1);
  const auto plan = plan_of({4, 0.3, {24, 24, 24}}, skewed);
  std::string error = "none";
  std::thread([&] {
    try {
      const DeviceAtoms atoms(threads, device.get(), 1);
      DeviceMesh(plan, atoms).set_charges(std::vector<float>(9));
    } catch (const RunError& found) {
      error = found.what();
    }
  }).join();
  EXPECT_EQ(error, "none");
}

TEST(DeviceMesh, SaysWhatItServes) {
  const auto serves = [](const Index3& grid, int order) {
    return DeviceMesh::serves(plan_of({order, 0.3, grid}, skewed));
  };
  EXPECT_TRUE(serves({24, 25, 21}, 4));
  EXPECT_FALSE(serves({23, 25, 21}, 4));  // real points are halved along x
  EXPECT_FALSE(serves({24, 26, 21}, 4));  // 13
  PmePlan short_one;                      // splines touch points twice
  short_one.settings = {8, 0.3, {6, 12, 12}};
  short_one.transform.problem.grid = short_one.settings.grid;
  EXPECT_FALSE(DeviceMesh::serves(short_one));
  short_one.settings.order = 6;
  EXPECT_TRUE(DeviceMesh::serves(short_one));
}

/// Returns the atoms after a step, by a device of which a call fails in it (0: none).
std::vector<Particle> atoms_after_step(DeviceOfHost& device, std::size_t at_call, bool* was_used,
                                       std::size_t* n_calls) {
  auto s = test::settings(false, false);
  device.open();
  s.device = &device.get();
  test::Simulation run(test::warm_water(false), s);
  EXPECT_TRUE(run.engine.forces().mesh().is_on_device());
  DeviceOfHost::set("fail_call=" + std::to_string(at_call));
  run.engine.step(true);
  *n_calls = DeviceOfHost::n_calls();
  *was_used = run.engine.forces().mesh().is_on_device() && run.engine.forces().pairs().sum().is_on_device();
  EXPECT_EQ(device.get().error().empty(), *was_used);
  return run.state();
}

// Whatever fails on a device, in pairs, bonded terms or mesh, is done by processors, with the same result.
TEST(DeviceMesh, ProcessorsDoWhatADeviceFailsAt) {
  TESSERA_NEEDS_HOST_LANES();
  test::Simulation alone(test::warm_water(false), test::settings(false, false));
  alone.engine.step(true);
  const auto expected = alone.state();
  const auto check = [&](const std::vector<Particle>& atoms) {
    ASSERT_EQ(atoms.size(), expected.size());
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      ASSERT_EQ(atoms[i].position, expected[i].position);
      ASSERT_EQ(atoms[i].velocity, expected[i].velocity);
    }
  };
  DeviceOfHost device;
  bool was_used = false;
  std::size_t n_calls = 0, n_failed = 0;
  check(atoms_after_step(device, 0, &was_used, &n_calls));
  EXPECT_TRUE(was_used);
  ASSERT_GT(n_calls, 30U);
  for (std::size_t call = 1, last = n_calls; call <= last; ++call) {
    SCOPED_TRACE("call " + std::to_string(call) + " of the driver fails");
    check(atoms_after_step(device, call, &was_used, &n_calls));
    n_failed += was_used ? 0 : 1;
  }
  EXPECT_GT(n_failed, 30U);
}

}  // namespace
}  // namespace tessera::md::pme
