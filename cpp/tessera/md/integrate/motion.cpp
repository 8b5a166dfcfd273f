#include "tessera/md/integrate/motion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tessera/base/index.h"
#include "tessera/base/math/elementary.h"
#include "tessera/base/random.h"
#include "tessera/base/units.h"
#include "tessera/md/integrate/constraint_forces.h"
#include "tessera/md/integrate/noise.h"
#include "tessera/md/virtual_site/virtual_sites.h"

namespace tessera::md::integrate {

namespace {

Velocity rounded(const Vec3& v) {
  const auto component = [](double value) {
    return static_cast<std::int32_t>(std::lrint(std::clamp(value / velocity_unit, -2147483647., 2147483647.)));
  };
  return {component(v.x), component(v.y), component(v.z)};
}

Failure first_of(const std::vector<Failure>& failures) {
  Failure first;
  for (const auto& failure : failures) first.offer(failure);
  return first;
}

Vec3 exact(const Velocity& v) { return {v.x * velocity_unit, v.y * velocity_unit, v.z * velocity_unit}; }

}  // namespace

Motion::Motion(const EngineSettings& settings, State& state, const domain::Domain& domain, const Topology& topology,
               Forces& forces, const std::vector<double>& degrees_of_baths, std::int64_t degrees_of_freedom,
               const comm::Communicator& comm, ThreadPool& threads, Adopt adopt)
    : settings_(settings),
      state_(state),
      domain_(domain),
      topology_(topology),
      forces_(forces),
      comm_(comm),
      threads_(threads),
      degrees_of_baths_(degrees_of_baths),
      degrees_of_freedom_(degrees_of_freedom),
      total_mass_(domain.system().total_mass()),
      adopt_(std::move(adopt)) {
  if (auto* atoms = forces.atoms_on_device())
    atoms->in_use().attempt([&] { on_device_ = std::make_unique<DeviceMotion>(threads, *atoms); });
}

void Motion::rebuild() {
  is_away_ = is_lost_ = stays_home_ = has_searched_on_device_ = knows_groups_ = knows_state_ = false;
  has_virials_ = has_looked_ = false;
  account_of_heat_.clear();
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
  find_baths();
}

/// Finds the heat bath of each atom after a search.
void Motion::find_baths() {
  const auto& baths = settings_.baths.heat_baths;
  if (baths.size() < 2) return;
  bath_.assign(at(domain_.n_owned_slots()), 0);
  threads_.parallel_for(domain_.n_owned_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s)
      for (std::size_t b = 1; b < baths.size(); ++b)
        if (baths[b].atoms.contains(state_.id[at(s)])) bath_[at(s)] = static_cast<std::uint8_t>(b);
  });
}

HalfStep Motion::half_step(double kick, double drift, const std::vector<std::int64_t>& force) {
  const auto to_length = state_.box.unit_vectors();
  return {.to_length = to_length,
          .to_fraction = inverse(to_length),
          .kick = kick,
          .timestep = drift,
          .tolerance = settings_.constraint_tolerance,
          .force = force.data(),
          .velocity = state_.velocity.data(),
          .position = state_.position.data()};
}

/// Calls half(thread, step, failure) on every thread. Returns the failure to report.
template <class Half>
Failure Motion::run_half_step(double kick, double drift, const std::vector<std::int64_t>& force, Half&& half) {
  if (!change_here()) return {};
  const auto step = half_step(kick, drift, force);
  std::vector<Failure> failures(at(threads_.size()));
  threads_.run([&](int thread) { half(thread, step, failures[at(thread)]); });
  return first_of(failures);
}

Failure Motion::kick_and_drift(double kick, double drift, const std::vector<std::int64_t>& force) {
  if (start_on_device(kick, drift, force, [](auto& device, const auto& step) { device.kick_and_drift(step); }))
    return {};
  return kick_and_drift_here(kick, drift, force);
}

/// Does the same on processors.
Failure Motion::kick_and_drift_here(double kick, double drift, const std::vector<std::int64_t>& force) {
  const auto failure = run_half_step(kick, drift, force, [&](int thread, const auto& step, auto& failed) {
    integrate::kick_and_drift(topology_.groups(), thread, threads_.size(), step, failed);
  });
  if (failure.slot >= 0) undo_drift(drift);
  return failure;
}

FrictionAndNoise Motion::friction_and_noise(const BathSettings& settings) const {
  FrictionAndNoise noise = {.baths = {},
                            .seed = settings.seed,
                            .step = static_cast<std::uint64_t>(state_.step),
                            .id = state_.id.data(),
                            .bath = bath_.empty() ? nullptr : bath_.data()};
  for (const auto& bath : settings.heat_baths) {
    const double decay = math::exp(-timestep() / bath.tau_t);
    const double kt = units::boltzmann * bath.temperature.at(time()) * units::acceleration;
    noise.baths.push_back({.decay = decay, .thermal = (1 - decay * decay) * kt});
  }
  return noise;
}

Failure Motion::kick_and_drift_with_noise(double kick, double drift, const BathSettings& settings,
                                          const std::string& account) {
  const auto& force = forces_.total();
  if (serves_baths() && start_on_device(kick, drift, force, [&](auto& device, const auto& step) {
        device.kick_and_drift_with_noise(step, friction_and_noise(settings));
        account_of_heat_ = account;
      }))
    return {};
  if (!change_here()) return {};
  const auto noise = friction_and_noise(settings);
  std::vector<std::int64_t> heats(at(threads_.size()));
  const auto failure = run_half_step(kick, drift, force, [&](int thread, const auto& step, auto& failed) {
    heats[at(thread)] =
        integrate::kick_and_drift_with_noise(topology_.groups(), thread, threads_.size(), step, noise, failed);
  });
  std::int64_t heat = 0;
  for (const auto part : heats) add_fixed(heat, part);
  add_heat(account, heat);
  if (failure.slot >= 0) undo_drift(drift);
  return failure;
}

Failure Motion::kick_and_project(double kick, const std::vector<std::int64_t>& force, bool with_virial) {
  const auto half = [&](auto& device, const auto& step) {
    if (with_virial) begin_virials();
    device.kick_and_project(step, with_virial);
  };
  if (is_away_ && start_on_device(kick, settings_.timestep, force, half)) return {};
  return run_half_step(kick, settings_.timestep, force, [&](int thread, const auto& step, auto& failed) {
    integrate::kick_and_project(topology_.groups(), thread, threads_.size(), step, failed,
                                with_virial ? &forces_.constraint_virial(thread) : nullptr);
  });
}

/// Lets a device do half a step, if it has all forces that these are. Returns false where processors have to.
template <class Half>
bool Motion::start_on_device(double kick, double drift, const std::vector<std::int64_t>& force, Half&& half) {
  if (is_lost_) return true;
  if (&force != &forces_.total() || !leave()) return false;
  return on_device([&](DeviceMotion& device) { half(device, half_step(kick, drift, force)); }) || is_lost_;
}

/// Tells whether a device has room for all heat baths.
bool Motion::serves_baths() const { return n_heat_baths() <= most_baths; }

/// Calls a function with what moves atoms that are away. Returns false where they are here; where the device fails at it
/// they are lost.
template <class Use>
bool Motion::on_device(Use&& use) {
  if (!is_away_ || is_lost_) return false;
  has_looked_ = false;
  is_lost_ = !forces_.atoms_on_device()->in_use().attempt([&] { use(*on_device_); });
  return !is_lost_;
}

std::size_t Motion::bytes() const {
  return inverse_mass_.capacity() * sizeof(double) + bath_.capacity() + seen_id_.capacity() * sizeof(std::int64_t) +
         (on_device_ ? on_device_->host_bytes() : 0);
}

/// Restores the positions to within a rounding of the velocities, and what noise has changed of them.
void Motion::undo_drift(double drift) {
  const double dt = drift * velocity_unit;
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    const auto& v = state_.velocity[at(s)];
    state_.position[at(s)] = state_.position[at(s)] - state_.box.fraction({dt * v.x, dt * v.y, dt * v.z});
  }
}

void Motion::remove_centre_of_mass_motion() {
  const double scale = momentum_unit / (total_mass_ * velocity_unit);
  const auto mean = [&](const auto& momentum) {
    const auto of = [&](std::int64_t p) {
      return static_cast<std::int32_t>(std::lrint(static_cast<double>(p) * scale));
    };
    return Velocity{of(momentum[0]), of(momentum[1]), of(momentum[2])};
  };
  if (on_device([&](DeviceMotion& device) { device.shift_velocities(mean(device.sum_momentum().momentum)); })) return;
  if (!change_here()) return;
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
  const auto shift = mean(momentum);
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (!moves(s)) continue;
    auto& v = state_.velocity[at(s)];
    v = {v.x - shift.x, v.y - shift.y, v.z - shift.z};
  }
}

void Motion::scale_velocities(double factor) {
  if (!change_here()) return;
  threads_.parallel_for(domain_.n_owned_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s) state_.velocity[at(s)] = rounded(factor * exact(state_.velocity[at(s)]));
  });
}

/// Calls work(thread, slots, velocity, mass) for each constraint group, with the velocity of its centre of mass in
/// units of velocity_unit.
template <class Work>
void Motion::for_groups(Work&& work) {
  if (!change_here()) return;
  threads_.run([&](int thread) {
    for (const auto& list : topology_.groups()) {
      const auto n_atoms = at(list.kind.group.n_atoms);
      const auto n = std::ssize(list.slots) / list.kind.group.n_atoms;
      for (auto g = n * thread / threads_.size(); g < n * (thread + 1) / threads_.size(); ++g) {
        const auto slots = std::span(list.slots).subspan(at(g) * n_atoms, n_atoms);
        double mass = 0;
        Vec3 momentum;
        for (const auto slot : slots) {
          const auto& v = state_.velocity[at(slot)];
          const double m = 1 / inverse_mass_[at(slot)];
          mass += m;
          momentum += m * Vec3{static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
        }
        work(thread, slots, (1 / mass) * momentum, mass);
      }
    }
  });
}

Motion::GroupKineticSums Motion::group_kinetic_sums() {
  constexpr double scale = velocity_unit * velocity_unit / units::acceleration;
  std::vector<std::array<std::int64_t, 3>> of_thread(at(threads_.size()));
  for_groups([&](int thread, std::span<const std::int32_t> /*slots*/, const Vec3& v, double mass) {
    auto& sum = of_thread[at(thread)];
    add_fixed(sum[0], to_fixed(scale * mass * v.x * v.x, energy_unit));
    add_fixed(sum[1], to_fixed(scale * mass * v.y * v.y, energy_unit));
    add_fixed(sum[2], to_fixed(scale * mass * v.z * v.z, energy_unit));
  });
  std::array<std::int64_t, 4> sums{};
  for (const auto& part : of_thread)
    for (std::size_t d = 0; d < 3; ++d) add_fixed(sums[d], part[d]);
  sums[3] = kinetic_energy();
  comm_.all_reduce_sum(sums);
  const auto value = [&](std::size_t i) { return from_fixed(sums[i], energy_unit); };
  return {{value(0), value(1), value(2)}, value(3)};
}

void Motion::scale_group_velocities(double factor, const std::array<double, 3>& of_groups) {
  for_groups([&](int /*thread*/, std::span<const std::int32_t> slots, const Vec3& v, double /*mass*/) {
    const Vec3 change =
        velocity_unit * Vec3{(of_groups[0] - 1) * v.x, (of_groups[1] - 1) * v.y, (of_groups[2] - 1) * v.z};
    for (const auto slot : slots) {
      auto& velocity = state_.velocity[at(slot)];
      velocity = rounded(factor * (exact(velocity) + change));
    }
  });
}

void Motion::scale_velocities(std::span<const double> factor_of_bath) {
  const auto scale = [&](DeviceMotion& device) { device.scale_velocities(factor_of_bath); };
  if (serves_baths() && leave() && on_device(scale)) return;
  if (!change_here()) return;
  if (bath_.empty()) return scale_velocities(factor_of_bath.front());
  threads_.parallel_for(domain_.n_owned_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = begin; s < end; ++s)
      state_.velocity[at(s)] = rounded(factor_of_bath[bath_[at(s)]] * exact(state_.velocity[at(s)]));
  });
}

std::vector<double>& Motion::coupling(const std::string& name, std::size_t n) {
  auto& variables = state_.coupling[name];
  variables.resize(n, 0);
  return variables;
}

void Motion::add_virial_within_groups() {
  const auto start = [&](DeviceMotion& device) {
    begin_virials();
    device.start_virial_within(half_step(0, 0, forces_.total()));
  };
  if (on_device(start)) return;
  (void)run_half_step(0, 0, forces_.total(), [&](int thread, const auto& step, auto& /*failed*/) {
    integrate::add_virial_within(topology_.groups(), thread, threads_.size(), step,
                                 forces_.virial_within_groups(thread));
  });
}

void Motion::set_box(const Box& box) {
  const auto before = state_.box;
  if (leave() && on_device([&](DeviceMotion& device) { device.follow_box(before, box); })) {
    state_.box = box;
    return forces_.follow_box_on_device();
  }
  if (!change_here()) return;
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
  if (!change_here()) return -1;
  return virtual_site::place_all(topology_.virtual_sites(), state_.box, state_.position, threads_);
}

std::string Motion::constrain_positions() {
  if (!change_here()) return {};
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
  if (!change_here()) return;
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (!moves(s)) continue;
    const auto normal = random_normals(seed, RandomStream::velocity, static_cast<std::uint64_t>(state_.id[at(s)]),
                                       static_cast<std::uint64_t>(state_.step));
    const double sigma = std::sqrt(units::boltzmann * temperature * units::acceleration * inverse_mass_[at(s)]);
    state_.velocity[at(s)] = rounded({sigma * normal[0], sigma * normal[1], sigma * normal[2]});
  }
}

Failure Motion::move_velocities_back() {
  const auto failure = kick_and_project(-0.5 * settings_.timestep, false);
  state_.velocity_time = VelocityTime::half_step_before;
  return failure;
}

std::int64_t Motion::kinetic_energy_of_step() {
  if (state_.velocity_time == VelocityTime::whole_step) return kinetic_energy();
  if (!change_here()) return 0;
  const auto velocity = state_.velocity;
  const auto position = state_.position;
  auto energy = share_of_kinetic_energy(0.5);
  (void)kick_and_drift_here(settings_.timestep, settings_.timestep,
                            forces_.total());  // the next step reports what fails here
  add_fixed(energy, share_of_kinetic_energy(0.5));
  state_.velocity = velocity;
  state_.position = position;
  return energy;
}

Failure Motion::add_constraint_virial() {
  if (topology_.n_constraints() == 0) return {};
  const double dt = settings_.timestep, kick = state_.velocity_time == VelocityTime::whole_step ? 0.5 * dt : dt;
  const auto start = [&](DeviceMotion& device) {
    begin_virials();
    device.start_constraint_virial(half_step(kick, dt, forces_.total()));
  };
  if (on_device(start) || !bring_home()) return {};
  const auto step = half_step(kick, dt, forces_.total());
  std::vector<Failure> failures(at(threads_.size()));
  threads_.run([&](int thread) {
    integrate::add_constraint_virial(topology_.groups(), thread, threads_.size(), step, failures[at(thread)],
                                     forces_.constraint_virial(thread));
  });
  return first_of(failures);
}

std::vector<double> Motion::kinetic_energies() {
  std::vector<double> energies;
  const auto n_baths = n_heat_baths();
  const auto sum = [&](DeviceMotion& device) {
    const auto sums = device.sum_kinetic_energies(1, n_baths);
    for (std::size_t b = 0; b < n_baths; ++b) energies.push_back(from_fixed(sums.kinetic[b], energy_unit));
  };
  if (serves_baths() && leave() && on_device(sum)) return energies;
  if (!bring_home()) return std::vector<double>(n_baths);
  if (bath_.empty()) return {total_kinetic_energy()};
  constexpr double scale = 0.5 * velocity_unit * velocity_unit / units::acceleration;
  std::vector<std::int64_t> sums(settings_.baths.heat_baths.size(), 0);
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    if (!moves(s)) continue;
    const auto& v = state_.velocity[at(s)];
    const Vec3 w = {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
    add_fixed(sums[bath_[at(s)]], to_fixed(scale * norm2(w) / inverse_mass_[at(s)], energy_unit));
  }
  comm_.all_reduce_sum(sums);
  for (const auto sum : sums) energies.push_back(from_fixed(sum, energy_unit));
  return energies;
}

double Motion::change_of_kinetic_energy(std::span<const double> before) {
  return total_kinetic_energy() - std::accumulate(before.begin(), before.end(), 0.0);
}

std::int64_t Motion::share_of_kinetic_energy(double share) {
  std::int64_t found = 0;
  const auto add = [&](DeviceMotion& device) {
    for (const auto of_bath : device.sum_kinetic_energies(share, n_heat_baths()).kinetic) add_fixed(found, of_bath);
  };
  if (serves_baths() && on_device(add)) return found;
  if (!bring_home()) return 0;
  const double scale = share * 0.5 * velocity_unit * velocity_unit / units::acceleration;
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
