// Tests steps whose atoms stay on a device, as a host computes them: whatever happens, they are those of processors.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/units.h"
#include "tessera/device/test_support/device_of_host.h"
#include "tessera/md/engine.h"
#include "tessera/md/test_support/water.h"

namespace tessera::md {
namespace {

using device::test::DeviceOfHost;
using namespace test;

EngineSettings settings_of(const std::string& thermostat, bool rigid = true) {
  auto s = settings(rigid, false);
  s.baths.thermostat = thermostat;
  if (thermostat == "langevin") s.integrator = "langevin";
  s.com_removal_every = thermostat.empty() ? 6 : 0;
  return s;
}

/// What is seen of a run at its end.
struct Seen {
  std::vector<Particle> atoms;
  GlobalState global;
  std::int64_t searches = 0, steps_on_device = 0;
  std::string error;  // that ended it

  static Seen of(const Simulation& run) {
    return {run.state(), run.engine.global(), run.engine.n_searches(), run.engine.n_steps_on_device(), {}};
  }
};

void expect_same(const Seen& found, const Seen& expected) {
  ASSERT_EQ(found.atoms.size(), expected.atoms.size());
  for (std::size_t i = 0; i < found.atoms.size(); ++i) {
    ASSERT_EQ(found.atoms[i].id, expected.atoms[i].id);
    ASSERT_EQ(found.atoms[i].position, expected.atoms[i].position);
    ASSERT_EQ(found.atoms[i].displacement, expected.atoms[i].displacement);
    ASSERT_EQ(found.atoms[i].velocity, expected.atoms[i].velocity);
  }
  EXPECT_EQ(found.global.step, expected.global.step);
  EXPECT_EQ(found.global.coupling, expected.global.coupling);
  EXPECT_TRUE(found.global.box == expected.global.box);
  EXPECT_TRUE(found.global.search_box == expected.global.search_box);
  EXPECT_EQ(found.searches, expected.searches);
  EXPECT_EQ(found.error, expected.error);
}

/// Calls use(settings) without a device, and with one.
template <class Use>
void with_and_without(EngineSettings s, const Use& use) {
  const Seen alone = use(s);
  EXPECT_EQ(alone.steps_on_device, 0);
  DeviceOfHost device;
  s.device = &device.get();
  const Seen found = use(s);
  expect_same(found, alone);
  EXPECT_GT(found.steps_on_device, alone.global.step / 4);
  EXPECT_EQ(device.get().error(), "");
}

TEST(EngineOnDevice, StepsAreThoseOfProcessors) {
  TESSERA_NEEDS_HOST_LANES();
  for (const char* thermostat : {"", "langevin", "bussi"}) {
    SCOPED_TRACE(thermostat);
    with_and_without(settings_of(thermostat), [&](const EngineSettings& s) {
      Simulation run(warm_water(true), s);
      run.advance(25);
      if (s.device != nullptr) {
        EXPECT_EQ(run.engine.n_steps_on_device(), 25);  // with searches, and whatever baths do
      }
      return Seen::of(run);
    });
  }
}

// Heat baths of some atoms each act there, too.
TEST(EngineOnDevice, HeatBathsAreThoseOfProcessors) {
  TESSERA_NEEDS_HOST_LANES();
  for (const char* thermostat : {"bussi", "berendsen", "nose-hoover"}) {
    SCOPED_TRACE(thermostat);
    auto s = settings_of(thermostat);
    s.com_removal_every = 5;
    s.baths.every = 3;
    s.baths.heat_baths.resize(2);
    s.baths.heat_baths[0] = {.atoms = model::AtomSet({{0, 299}}), .temperature = 320, .tau_t = 0.02};
    s.baths.heat_baths[1] = {
        .atoms = model::AtomSet({{300, warm_water(true).system.n_atoms() - 1}}), .temperature = 280, .tau_t = 0.03};
    with_and_without(s, [&](const EngineSettings& with) {
      Simulation run(warm_water(true), with);
      run.advance(14);
      if (with.device != nullptr) {
        EXPECT_GE(run.engine.n_steps_on_device(), 13);  // a Nosé–Hoover chain acts before the first
      }
      return Seen::of(run);
    });
  }
}

// Energies, their pressure among them, are summed there, too, of charges that exclude each other on both sides of cells.
TEST(EngineOnDevice, EnergiesAreThoseOfProcessors) {
  TESSERA_NEEDS_HOST_LANES();
  for (const bool rigid : {true, false}) {
    for (const auto electrostatics : {pair::Electrostatics::pme, pair::Electrostatics::shift}) {
      SCOPED_TRACE(static_cast<int>(electrostatics));
      auto s = settings_of("bussi", rigid);
      s.pair.electrostatics = electrostatics;
      s.search_every = 4;
      std::vector<Energies> seen;
      with_and_without(s, [&](const EngineSettings& with) {
        Simulation run(warm_water(rigid), with);
        for (std::size_t step = 0; step < 15; ++step) {
          run.engine.step(step % 3 == 1);
          if (with.device == nullptr) seen.push_back(run.engine.energies());
          EXPECT_EQ(run.engine.energies().term, seen[step].term);
          EXPECT_EQ(run.engine.energies().virial, seen[step].virial);
          EXPECT_EQ(run.engine.energies().kinetic, seen[step].kinetic);
          EXPECT_EQ(run.engine.energies().conserved, seen[step].conserved);
        }
        if (with.device != nullptr) {
          EXPECT_EQ(run.engine.n_steps_on_device(), 15);
        }
        return Seen::of(run);
      });
    }
  }
}

// Who looks at atoms gets a copy; the atoms stay there.
TEST(EngineOnDevice, AtomsStayThereWhenTheyAreLookedAt) {
  TESSERA_NEEDS_HOST_LANES();
  auto s = settings_of("langevin");
  s.search_every = 3;
  std::vector<Snapshot> seen;
  with_and_without(s, [&](const EngineSettings& with) {
    Simulation run(warm_water(true), with);
    for (std::size_t step = 0; step < 12; ++step) {
      run.engine.step(false);
      run.engine.check();
      auto snapshot = run.engine.snapshot();
      std::ranges::sort(snapshot.atoms, {}, &Particle::id);
      if (with.device == nullptr) seen.push_back(snapshot);
      EXPECT_EQ(snapshot.coupling, seen[step].coupling);
      for (std::size_t i = 0; i < snapshot.atoms.size(); ++i) {
        const auto &found = snapshot.atoms[i], &expected = seen[step].atoms[i];
        EXPECT_TRUE(found.position == expected.position && found.velocity == expected.velocity &&
                    found.displacement == expected.displacement);
      }
      const auto atoms = run.engine.atoms();
      EXPECT_EQ(atoms.n_atoms, 648);
      const auto slot = static_cast<std::size_t>(std::ranges::find(atoms.id, 5) - atoms.id.begin());
      const auto force = atoms.force_on(slot);
      if (step == 11) {  // which brings them home
        EXPECT_EQ(run.engine.force(run.engine.domain().slot_of(5)).x, force.x);
      }
    }
    if (with.device != nullptr) {
      EXPECT_EQ(run.engine.n_steps_on_device(), 12);
    }
    return Seen::of(run);
  });
}

// Boxes that are tried in a step are tried here, wherever atoms were before.
TEST(EngineOnDevice, BoxesAreTriedByProcessors) {
  TESSERA_NEEDS_HOST_LANES();
  for (const bool rigid : {true, false}) {
    for (const std::int64_t every : {1, 3}) {
      SCOPED_TRACE(every);
      auto s = settings_of("bussi", rigid);
      s.baths.barostat = "monte-carlo";
      s.baths.trials_every = every;
      s.search_every = 7;
      const auto use = [&](const EngineSettings& with) {
        Simulation run(warm_water(rigid), with);
        for (int step = 1; step <= 15; ++step) {
          if (step % 2 == 0) (void)run.engine.state();  // which brings atoms home
          if (step % 5 == 0) run.engine.measure();
          run.engine.step(false);
        }
        return Seen::of(run);
      };
      const auto alone = use(s);
      DeviceOfHost device;
      s.device = &device.get();
      expect_same(use(s), alone);
      EXPECT_EQ(device.get().error(), "");
    }
  }
}

// Threads that have not used the device may look.
TEST(EngineOnDevice, AnyThreadMayLook) {
  TESSERA_NEEDS_HOST_LANES();
  auto s = settings_of("langevin");
  with_and_without(s, [&](const EngineSettings& with) {
    Simulation run(warm_water(true), with);
    for (int step = 0; step < 6; ++step) {
      run.advance(1);
      std::thread([&] { step % 2 == 0 ? run.engine.check() : (void)run.engine.snapshot(); }).join();
    }
    return Seen::of(run);
  });
}

/// Returns settings with which the box of water changes by much.
EngineSettings settings_of_pressure(const std::string& barostat) {
  auto s = settings_of("bussi");
  s.baths.barostat = barostat;
  s.baths.every = 2;
  s.baths.pressure = 3000;
  s.baths.tau_p = 0.1;
  s.search_every = 5;
  return s;
}

// Virials, boxes that change and searches after that are those of processors.
TEST(EngineOnDevice, PressureBathsAreThoseOfProcessors) {
  TESSERA_NEEDS_HOST_LANES();
  for (const bool rigid : {true, false}) {
    for (const auto edges : {integrate::Edges::isotropic, integrate::Edges::anisotropic}) {
      SCOPED_TRACE(static_cast<int>(edges));
      for (const char* barostat : {"c-rescale", "berendsen"}) {
        SCOPED_TRACE(barostat);
        auto s = settings_of_pressure(barostat);
        s.constraints = rigid ? constraint::ConstraintMode::h_bonds : constraint::ConstraintMode::none;
        s.baths.edges = edges;
        with_and_without(s, [&](const EngineSettings& with) {
          Simulation run(warm_water(rigid), with);
          run.advance(24);
          EXPECT_FALSE(run.engine.global().box == warm_water(rigid).system.box);
          if (with.device != nullptr) {
            EXPECT_EQ(run.engine.n_steps_on_device(), 24);
          }
          return Seen::of(run);
        });
      }
    }
  }
}

// Where the number of cells changes with the box, processors search.
TEST(EngineOnDevice, ABoxMayNeedOtherCells) {
  TESSERA_NEEDS_HOST_LANES();
  for (const auto& [edge, bar] : {std::pair{20., 40000.}, std::pair{19.65, -30000.}}) {
    SCOPED_TRACE(bar);
    auto s = settings_of_pressure("c-rescale");
    s.baths.pressure = bar;
    s.baths.every = 1;
    s.baths.tau_p = 0.02;
    std::vector<double> energies;
    with_and_without(s, [&](const EngineSettings& with) {
      Simulation run(warm_water(true), with);
      run.engine.set_box(orthorhombic(edge, edge, edge));
      run.engine.measure();
      const auto n_cells = run.engine.plan().cells.grid.n;
      std::vector<double> its_energies;
      for (int step = 1; step <= 60; ++step) {
        run.engine.step(step % 13 == 0);
        its_energies.push_back(run.engine.energies().conserved);
        its_energies.push_back(run.engine.energies().pressure);
      }
      if (energies.empty()) energies = its_energies;
      EXPECT_EQ(its_energies, energies);
      EXPECT_NE(run.engine.plan().cells.grid.n, n_cells);
      return Seen::of(run);
    });
  }
}

// Integrators find the virial of constraints of a state without the step before it.
TEST(EngineOnDevice, VirialsOfStatesAreThoseOfProcessors) {
  TESSERA_NEEDS_HOST_LANES();
  for (const char* integrator : {"langevin", "leapfrog"}) {
    SCOPED_TRACE(integrator);
    auto s = settings_of_pressure("c-rescale");
    s.baths.every = 4;
    if (std::string(integrator) == "langevin") s.baths.thermostat = "langevin";
    s.integrator = integrator;
    with_and_without(s, [&](const EngineSettings& with) {
      Simulation run(warm_water(true), with);
      run.engine.measure();
      run.advance(24);
      if (with.device != nullptr) {
        EXPECT_GE(run.engine.n_steps_on_device(), s.integrator == "langevin" ? 24 : 12);
      }
      return Seen::of(run);
    });
  }
}

// Between two searches a device needs no processors, and makes pair lists by itself.
TEST(EngineOnDevice, ListsAreMadeThere) {
  TESSERA_NEEDS_HOST_LANES();
  auto s = settings_of("langevin");
  s.search_every = 100;
  s.buffer = 2;
  s.pme_grid = {20, 21, 20};
  with_and_without(s, [&](const EngineSettings& with) {
    Simulation run(warm_water(true), with);
    run.advance(30);
    if (with.device != nullptr) {
      EXPECT_EQ(run.engine.n_steps_on_device(), 30);
      EXPECT_GE(run.engine.n_pair_lists(), 4);
    }
    return Seen::of(run);
  });
}

// Searches that are due because atoms have moved, in whatever direction, come in the same steps, and leave atoms there.
TEST(EngineOnDevice, SearchesAreThoseOfProcessors) {
  TESSERA_NEEDS_HOST_LANES();
  auto s = settings_of("", false);
  s.com_removal_every = 0;
  s.search_every = 1000;
  s.buffer = 0.4;
  for (std::int64_t n : {0, 1, 2, 3}) {  // moved starts, so that other atoms are the fastest
    with_and_without(s, [&](const EngineSettings& with) {
      Simulation run(warm_water(false), with);
      run.engine.generate_velocities(300, static_cast<std::uint64_t>(n + 10));
      run.advance(24);
      EXPECT_GE(run.engine.n_searches(), 3);
      if (with.device != nullptr) {
        EXPECT_EQ(run.engine.n_steps_on_device(), 24);  // and with them all searches
      }
      return Seen::of(run);
    });
  }
}

// Where a device has no room for searches, processors do them, and it goes on with all else.
TEST(EngineOnDevice, SearchesNeedRoom) {
  TESSERA_NEEDS_HOST_LANES();
  auto s = settings_of("");
  s.com_removal_every = 0;
  s.search_every = 4;
  with_and_without(s, [&](const EngineSettings& with) {
    Simulation run(warm_water(true), with);
    run.advance(3);
    if (with.device != nullptr) {
      const auto free = with.device->device().free_bytes();
      DeviceOfHost::set("memory=" + std::to_string(with.device->device().facts().bytes - free + 50'000));
    }
    run.advance(9);
    if (with.device != nullptr) {
      EXPECT_EQ(run.engine.n_steps_on_device(), 9);  // and searches in the others
    }
    return Seen::of(run);
  });
}

// Pairs of types with parameters of their own are listed apart from others, in rows.
TEST(EngineOnDevice, PairsByTableAreListedThere) {
  TESSERA_NEEDS_HOST_LANES();
  auto sample = warm_water(true);
  sample.system.force_field.nbfix = {{0, 0, {590000, 600}}};
  auto s = settings_of("");
  s.com_removal_every = 0;
  s.search_every = 4;
  with_and_without(s, [&](const EngineSettings& with) {
    Simulation run(sample, with);
    run.advance(14);
    if (with.device != nullptr) {
      EXPECT_EQ(run.engine.n_steps_on_device(), 14);
    }
    return Seen::of(run);
  });
}

// Who looks at atoms, forces or energies between steps sees those of processors, and changes nothing.
TEST(EngineOnDevice, LooksChangeNothing) {
  TESSERA_NEEDS_HOST_LANES();
  std::vector<double> energies, forces;
  with_and_without(settings_of("langevin", false), [&](const EngineSettings& s) {
    Simulation run(warm_water(false), s);
    std::vector<double> its_energies, its_forces;
    for (int step = 1; step <= 24; ++step) {
      run.engine.step(step % 5 == 0);
      its_energies.push_back(run.engine.energies().total());
      if (step % 7 == 0) its_forces.push_back(run.engine.force(0).x);
      if (step % 8 == 0) run.engine.generate_velocities(310, static_cast<std::uint64_t>(step));
      if (step % 11 == 0) run.engine.measure();
    }
    if (energies.empty()) energies = its_energies, forces = its_forces;
    EXPECT_EQ(its_energies, energies);
    EXPECT_EQ(its_forces, forces);
    return Seen::of(run);
  });
}

/// Compares how runs end that blow up, whether or not somebody asks after each step.
void blow_up(const Sample& sample, EngineSettings s) {
  for (const bool asks : {false, true}) {
    SCOPED_TRACE(asks);
    s.device = nullptr;
    const auto use = [&](const EngineSettings& with) {
      Simulation run(sample, with);
      Seen seen;
      try {
        for (int step = 0; step < 200; ++step) {
          run.advance(1);
          if (asks) run.engine.check();
        }
      } catch (const RunError& error) {
        seen.error = error.what();
      }
      EXPECT_NE(seen.error, "");
      seen.global.step = run.engine.current_step();
      return seen;
    };
    const auto alone = use(s);
    DeviceOfHost device;
    s.device = &device.get();
    expect_same(use(s), alone);
    EXPECT_EQ(device.get().error(), "");
  }
}

/// Compares runs of which a call of the driver fails, every so many of them, with one by processors.
void fail_calls(EngineSettings s, int n_steps, std::size_t every) {
  Simulation alone(warm_water(true), s);
  alone.advance(n_steps);
  const auto expected = Seen::of(alone);
  DeviceOfHost device;
  std::int64_t n_failed = 0;
  const auto check = [&](std::size_t at_call) {
    device.open();
    s.device = &device.get();
    Simulation run(warm_water(true), s);
    DeviceOfHost::set("fail_call=" + std::to_string(at_call));
    run.advance(n_steps);
    const auto seen = Seen::of(run);
    expect_same(seen, expected);
    n_failed += device.get().error().empty() ? 0 : 1;
    return DeviceOfHost::n_calls();
  };
  const auto n_calls = check(0);
  ASSERT_GT(n_calls, 100U);
  for (std::size_t call = 1; call <= n_calls; call += every) {
    SCOPED_TRACE("call " + std::to_string(call) + " of the driver fails");
    check(call);
  }
  EXPECT_GT(n_failed, 5);
}

// A run that blows up ends in the same step, and names the same atom.
TEST(EngineOnDevice, ABlowUpIsThatOfProcessors) {
  TESSERA_NEEDS_HOST_LANES();
  for (const bool rigid : {true, false}) {
    SCOPED_TRACE(rigid);
    auto s = settings_of("langevin", rigid);
    s.timestep = rigid ? 0.02 : 0.006;
    blow_up(warm_water(rigid), s);
  }
}

// An atom may become too fast in either half of a step, which a device or processors do.
TEST(EngineOnDevice, AnAtomMayBecomeTooFastInAnyHalf) {
  TESSERA_NEEDS_HOST_LANES();
  auto s = settings_of("", false);
  s.timestep = 1e-6;  // so that its force hardly changes
  s.search_every = 2;
  constexpr std::size_t atom = 30;  // an oxygen
  auto sample = warm_water(false);
  const auto force = [&] {
    const Simulation run(sample, s);
    return run.engine.force(run.engine.domain().slot_of(atom));
  }();
  const double of_half = 0.5 * s.timestep * units::acceleration * norm(force) / 15.9994;  // Å/ps
  for (const double halves : {0.5, 1.5, 2.5, 3.5, 4.5}) {
    SCOPED_TRACE(halves);
    const auto v = ((integrate::speed_limit - halves * of_half) / (velocity_unit * norm(force))) * force;
    sample.particles[atom].velocity = {static_cast<std::int32_t>(v.x), static_cast<std::int32_t>(v.y),
                                       static_cast<std::int32_t>(v.z)};
    blow_up(sample, s);
  }
}

// Whatever call of the driver fails, steps since processors knew the atoms are done again, with the same result.
TEST(EngineOnDevice, StepsThatAreLostAreDoneAgain) {
  TESSERA_NEEDS_HOST_LANES();
  auto s = settings_of("langevin");
  s.search_every = 100;
  fail_calls(s, 5, 11);
  s.search_every = 2;  // a device that has searched has other slots
  fail_calls(s, 6, 17);
}

// Baths that act before a step have then acted once.
TEST(EngineOnDevice, BathsActOnceInStepsThatAreLost) {
  TESSERA_NEEDS_HOST_LANES();
  auto s = settings_of("nose-hoover");
  s.search_every = 100;
  s.baths.every = 3;
  fail_calls(s, 8, 37);
  s.baths.barostat = "mtk";
  s.baths.every = 4;
  fail_calls(s, 8, 41);
  s = settings_of_pressure("c-rescale");
  s.search_every = 3;
  fail_calls(s, 8, 47);
  s = settings_of("langevin");
  s.baths.barostat = "monte-carlo";
  s.baths.trials_every = 3;
  fail_calls(s, 7, 43);
}

}  // namespace
}  // namespace tessera::md
