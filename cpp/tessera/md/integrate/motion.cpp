#include "tessera/md/integrate/motion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/random.h"
#include "tessera/base/units.h"
#include "tessera/md/integrate/noise.h"
#include "tessera/md/virtual_site/virtual_sites.h"

namespace tessera::md::integrate {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Velocity rounded(const Vec3& v) {
  const auto component = [](double value) {
    return static_cast<std::int32_t>(std::lrint(std::clamp(value / velocity_unit, -2147483647., 2147483647.)));
  };
  return {component(v.x), component(v.y), component(v.z)};
}

Vec3 exact(const Velocity& v) { return {v.x * velocity_unit, v.y * velocity_unit, v.z * velocity_unit}; }

}  // namespace

Motion::Motion(const EngineSettings& settings, State& state, const domain::Domain& domain, const Topology& topology,
               Forces& forces, std::int64_t degrees_of_freedom, const comm::Communicator& comm, ThreadPool& threads)
    : settings_(settings),
      state_(state),
      domain_(domain),
      topology_(topology),
      forces_(forces),
      comm_(comm),
      threads_(threads),
      degrees_of_freedom_(degrees_of_freedom),
      total_mass_(domain.system().total_mass()) {}

void Motion::rebuild() {
  inverse_mass_.assign(at(domain_.n_owned_slots()), 0);
  threads_.parallel_for(domain_.n_owned_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = static_cast<std::int32_t>(begin); s < end; ++s) {
      if (domain_.is_padding(s)) continue;
      const double mass = domain_.molecule_of(s).mass[at(state_.local[at(s)])];
      if (mass == 0 || settings_.fixed.contains(state_.id[at(s)]))
        state_.velocity[at(s)] = {};
      else
        inverse_mass_[at(s)] = 1 / mass;
    }
  });
}

/// Calls half(thread, step, failure) on every thread. Returns the failure to report.
template <class Half>
Failure Motion::run_half_step(double kick, double drift, const std::vector<std::int64_t>& force, Half&& half) {
  const auto to_length = state_.box.unit_vectors();
  const HalfStep step = {.to_length = to_length,
                         .to_fraction = inverse(to_length),
                         .kick = kick,
                         .timestep = drift,
                         .tolerance = settings_.constraint_tolerance,
                         .force = force.data(),
                         .velocity = state_.velocity.data(),
                         .position = state_.position.data()};
  std::vector<Failure> failures(at(threads_.size()));
  threads_.run([&](int thread) { half(thread, step, failures[at(thread)]); });
  Failure first;
  for (const auto& failure : failures) first.offer(failure);
  return first;
}

Failure Motion::kick_and_drift(double kick, double drift, const std::vector<std::int64_t>& force) {
  const auto failure = run_half_step(kick, drift, force, [&](int thread, const auto& step, auto& failed) {
    integrate::kick_and_drift(topology_.groups(), thread, threads_.size(), step, failed);
  });
  if (failure.slot >= 0) undo_drift(drift);
  return failure;
}

Failure Motion::kick_and_project(double kick, const std::vector<std::int64_t>& force, bool with_virial) {
  return run_half_step(kick, settings_.timestep, force, [&](int thread, const auto& step, auto& failed) {
    integrate::kick_and_project(topology_.groups(), thread, threads_.size(), step, failed,
                                with_virial ? &forces_.constraint_virial(thread) : nullptr);
  });
}

/// Restores the positions to within a rounding of the velocities.
void Motion::undo_drift(double drift) {
  const double dt = drift * velocity_unit;
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    const auto& v = state_.velocity[at(s)];
    state_.position[at(s)] = state_.position[at(s)] - state_.box.fraction({dt * v.x, dt * v.y, dt * v.z});
  }
}

void Motion::remove_centre_of_mass_motion() {
  constexpr double momentum_unit = 1.0 / 1048576.0;  // amu Å/ps
  std::array<std::int64_t, 3> momentum{};
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (!moves(s)) continue;
    const auto& v = state_.velocity[at(s)];
    const double mass = velocity_unit / inverse_mass_[at(s)];
    add_fixed(momentum[0], to_fixed(mass * v.x, momentum_unit));
    add_fixed(momentum[1], to_fixed(mass * v.y, momentum_unit));
    add_fixed(momentum[2], to_fixed(mass * v.z, momentum_unit));
  }
  comm_.all_reduce_sum(momentum);
  const double scale = momentum_unit / (total_mass_ * velocity_unit);
  const auto shift = [&](std::int64_t p) {
    return static_cast<std::int32_t>(std::lrint(static_cast<double>(p) * scale));
  };
  const Velocity mean = {shift(momentum[0]), shift(momentum[1]), shift(momentum[2])};
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (!moves(s)) continue;
    auto& v = state_.velocity[at(s)];
    v = {v.x - mean.x, v.y - mean.y, v.z - mean.z};
  }
}

void Motion::scale_velocities(double factor) {
  threads_.parallel_for(domain_.n_owned_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s) state_.velocity[at(s)] = rounded(factor * exact(state_.velocity[at(s)]));
  });
}

void Motion::apply_friction_and_noise(double decay, double temperature, std::uint64_t seed) {
  const FrictionAndNoise bath = {.decay = decay,
                                 .thermal = (1 - decay * decay) * units::boltzmann * temperature * units::acceleration,
                                 .seed = seed,
                                 .step = static_cast<std::uint64_t>(state_.step)};
  threads_.parallel_for(domain_.n_owned_slots(), [&](std::int64_t begin, std::int64_t end) {
    bath.apply_to(&state_.id[at(begin)], &inverse_mass_[at(begin)], &state_.velocity[at(begin)], at(end - begin));
  });
}

std::vector<double>& Motion::coupling(const std::string& name, std::size_t n) {
  auto& variables = state_.coupling[name];
  variables.resize(n, 0);
  return variables;
}

void Motion::add_virial_within_groups() {
  threads_.run([&](int thread) {
    auto& sum = forces_.virial_within_groups(thread);
    for (const auto& list : topology_.groups()) {
      const auto n_atoms = std::int64_t{list.kind.group.n_atoms};
      if (n_atoms == 1) continue;
      const auto n = static_cast<std::int64_t>(list.size());
      for (auto group = n * thread / threads_.size(); group < n * (thread + 1) / threads_.size(); ++group) {
        const auto first = state_.position[at(list.slots[at(group * n_atoms)])];
        for (auto k = group * n_atoms + 1; k < (group + 1) * n_atoms; ++k) {
          const auto slot = list.slots[at(k)];
          sum.add_virial(state_.box.displacement(first, state_.position[at(slot)]), forces_.on(slot));
        }
      }
    }
  });
}

void Motion::set_box(const Box& box) {
  const auto before = state_.box;
  for (const auto& list : topology_.groups()) {
    const auto n_atoms = std::int64_t{list.kind.group.n_atoms};
    if (n_atoms == 1) continue;
    threads_.parallel_for(std::ssize(list.slots) / n_atoms, [&](std::int64_t begin, std::int64_t end) {
      for (auto group = begin; group < end; ++group) {
        const auto first = state_.position[at(list.slots[at(group * n_atoms)])];
        for (auto k = group * n_atoms + 1; k < (group + 1) * n_atoms; ++k) {
          auto& position = state_.position[at(list.slots[at(k)])];
          position = first + box.fraction(before.displacement(first, position));
        }
      }
    });
  }
  state_.box = box;
  (void)place_virtual_sites();  // their directions have hardly changed
  forces_.set_box(before);
}

std::int32_t Motion::place_virtual_sites() {
  return virtual_site::place_all(topology_.virtual_sites(), state_.box, state_.position, threads_);
}

std::string Motion::constrain_positions() {
  // Positions are moved onto the constraints along their present bonds, like after a drift of zero length.
  std::string problem;
  topology_.for_constrained([&](const auto& atoms) {
    const auto before = places(atoms, state_.box, state_.position);
    auto after = before;
    if (!atoms.correct_positions(before, after, settings_.constraint_tolerance) && problem.empty())
      problem = fmt::format("{} {} to be constrained; `tessera minimize` mends that",
                            domain_.system().describe(state_.id[at(atoms.slots[0])]), atoms.too_far);
    for (std::size_t k = 0; k < atoms.slots.size(); ++k) {
      auto& position = state_.position[at(atoms.slots[k])];
      position = position + state_.box.fraction(after[k] - before[k]);
    }
  });
  return problem;
}

void Motion::draw_velocities(double temperature, std::uint64_t seed) {
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (!moves(s)) continue;
    const auto normal = random_normals(seed, RandomStream::velocity, static_cast<std::uint64_t>(state_.id[at(s)]),
                                       static_cast<std::uint64_t>(state_.step));
    const double sigma = std::sqrt(units::boltzmann * temperature * units::acceleration * inverse_mass_[at(s)]);
    state_.velocity[at(s)] = rounded({sigma * normal[0], sigma * normal[1], sigma * normal[2]});
  }
}

Failure Motion::add_constraint_virial() {
  Failure failure;
  const double dt = settings_.timestep;
  topology_.for_constrained([&](const auto& atoms) {
    const auto before = places(atoms, state_.box, state_.position);
    auto free = collect(atoms, [&](std::int32_t slot) {
      return exact(state_.velocity[at(slot)]) +
             (0.5 * dt * units::acceleration * inverse_mass_[at(slot)]) * forces_.on(slot);
    });
    for (std::size_t k = 0; k < atoms.slots.size(); ++k) free[k] = before[k] + dt * free[k];
    auto after = free;
    if (!atoms.correct_positions(before, after, settings_.constraint_tolerance)) failure.offer({atoms.slots[0]});
    for (std::size_t k = 0; k < atoms.slots.size(); ++k) {
      const double stiffness = 2 / (dt * dt * units::acceleration * inverse_mass_[at(atoms.slots[k])]);
      forces_.constraint_virial(0).add_virial(before[k], stiffness * (after[k] - free[k]));
    }
  });
  return failure;
}

std::int64_t Motion::kinetic_energy() const {
  constexpr double scale = 0.5 * velocity_unit * velocity_unit / units::acceleration;
  std::vector<std::int64_t> of_thread(at(threads_.size()), 0);
  threads_.run([&](int thread) {
    const std::int64_t n = domain_.n_owned_slots();
    std::int64_t sum = 0;
    for (auto s = n * thread / threads_.size(); s < n * (thread + 1) / threads_.size(); ++s) {
      if (!moves(s)) continue;
      const auto& v = state_.velocity[at(s)];
      const Vec3 w = {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
      add_fixed(sum, to_fixed(scale * norm2(w) / inverse_mass_[at(s)], energy_unit));
    }
    of_thread[at(thread)] = sum;
  });
  std::int64_t sum = 0;
  for (const auto part : of_thread) add_fixed(sum, part);
  return sum;
}

}  // namespace tessera::md::integrate
