// One step of molecular dynamics, top to bottom: velocity Verlet with the forces of its phases. A force that the run
// does not have is an empty list. Each line is a phase of the report.
#include <algorithm>

#include "tessera/base/processor_time.h"
#include "tessera/base/units.h"
#include "tessera/md/engine.h"
#include "tessera/md/pme/influence.h"

namespace tessera::md {

/// A phase of this rank's own atoms, in which it waits for nobody.
template <class Function>
void Engine::work(Phase phase, Function&& function) {
  const double before = processor_seconds();
  timers_.time(phase, function);
  work_seconds_ += processor_seconds() - before;
}

void Engine::step(bool with_energies) {
  ++step_;
  const bool is_search_likely = expects_search();
  work(Phase::first_half, [&] { first_half(); });
  work(Phase::pair_list, [&] { pair_.update_owned(); });
  timers_.time(Phase::displacement, [&] { start_check(); });
  timers_.time(Phase::halo_positions, [&] { domain_.start_halo_positions(); });
  work(Phase::clear, [&] { clear_forces(with_energies); });
  // While ranks hear of each other's displacements and positions, pairs that need neither: in vain before a search.
  const auto meanwhile = [&] {
    comm::Communicator::push(std::span(&check_request_, 1));
    domain_.push_halo_positions();
  };
  if (!is_search_likely) work(Phase::pair, [&] { pair_.add_inner_forces(accumulators_, meanwhile); });
  timers_.time(Phase::halo_positions, [&] { domain_.finish_halo_positions(); });
  if (timers_.time(Phase::displacement, [&] { return must_search(); })) {
    timers_.time(Phase::search, [&] { search(); });
    work(Phase::clear, [&] { clear_forces(with_energies); });
  }
  add_forces(check_[needs_list] != 0);
  work(Phase::second_half, [&] { second_half(with_energies); });
  if (with_energies) timers_.time(Phase::energies, [&] { sum_energies(); });
}

void Engine::compute_forces(bool with_energies) {
  work(Phase::clear, [&] { clear_forces(with_energies); });
  add_forces(false);
}

/// Of all that acts, less what has been added. All ranks list pairs in the same steps: none waits for others' lists.
void Engine::add_forces(bool make_list) {
  work(Phase::bonded, [&] { add_bonded_forces(); });
  work(Phase::pair_list, [&] { pair_.update(make_list); });
  work(Phase::pair, [&] { pair_.add_forces(accumulators_); });
  // While forces on the halo are on their way, the mesh.
  work(Phase::sum_threads, [&] { sum_threads(3 * std::int64_t{domain_.n_owned_slots()}, force_size()); });
  timers_.time(Phase::halo_forces, [&] { domain_.start_return_of_forces(force_); });
  report_blow_up(mesh_.add_forces(accumulators_, timers_));
  work(Phase::sum_threads, [&] { sum_threads(0, 3 * std::int64_t{domain_.n_owned_slots()}); });
  timers_.time(Phase::halo_forces, [&] { domain_.finish_return_of_forces(force_); });
}

/// Energies, virial and what follows from them, over all threads and ranks.
void Engine::sum_energies() {
  check();
  EnergyVirial sum;
  for (const auto& part : thread_energies_) sum.merge(part);
  constexpr std::size_t n_values = n_terms + 6;  // and what each has of clashes; and the kinetic energy
  std::array<std::int64_t, 2 * n_values + 1> all;
  std::copy(sum.energy.begin(), sum.energy.end(), all.begin());
  std::copy(sum.virial.begin(), sum.virial.end(), all.begin() + n_terms);
  std::copy(sum.energy_of_clashes.begin(), sum.energy_of_clashes.end(), all.begin() + n_values);
  std::copy(sum.virial_of_clashes.begin(), sum.virial_of_clashes.end(), all.begin() + n_values + n_terms);
  all.back() = kinetic_energy();
  comm_.all_reduce_sum(all);
  energies_ = {};
  const auto value = [&](std::size_t i) {
    return from_fixed(all[i], energy_unit) + from_fixed(all[n_values + i], large_energy);
  };
  for (std::size_t t = 0; t < n_terms; ++t) energies_.term[t] = value(t);
  for (std::size_t c = 0; c < 6; ++c) energies_.virial[c] = value(n_terms + c);
  energies_.kinetic = from_fixed(all.back(), energy_unit);

  // Terms that depend on the composition and the box alone.
  const auto& pair = settings_.pair;
  const double volume = system_.lattice.volume();
  auto& term = energies_.term;
  if (pair.electrostatics == pair::Electrostatics::pme) {
    term[static_cast<std::size_t>(Term::coulomb_self)] =
        pme::self_energy(pair.coulomb_constant, pair.alpha, system_.sum_of_squared_charges());
    term[static_cast<std::size_t>(Term::coulomb_background)] =
        pme::background_energy(pair.coulomb_constant, pair.alpha, system_.net_charge(), volume);
  }
  term[static_cast<std::size_t>(Term::lj_tail)] = tail_.energy;
  for (std::size_t d = 0; d < 3; ++d)  // both go with 1/V: each diagonal component is the energy's, or P·V
    energies_.virial[d] += energies_[Term::coulomb_background] + tail_.virial;

  energies_.temperature = 2 * energies_.kinetic / (static_cast<double>(degrees_of_freedom_) * units::boltzmann);
  const double trace = energies_.virial[0] + energies_.virial[1] + energies_.virial[2];
  if (system_.is_periodic) energies_.pressure = (2 * energies_.kinetic + trace) / (3 * volume) * units::bar;
}

}  // namespace tessera::md
