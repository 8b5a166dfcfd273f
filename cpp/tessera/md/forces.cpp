#include "tessera/md/forces.h"

#include <algorithm>
#include <utility>

#include "tessera/base/index.h"
#include "tessera/base/units.h"
#include "tessera/md/blow_up.h"
#include "tessera/md/bonded/bonded.h"
#include "tessera/md/pme/influence.h"
#include "tessera/md/virtual_site/virtual_sites.h"

namespace tessera::md {

namespace {

/// Makes what a device needs of atoms, if there is one and it can compute anything.
std::unique_ptr<DeviceAtoms> make_atoms_on_device(const EngineSettings& settings, ThreadPool& threads) {
  std::unique_ptr<DeviceAtoms> atoms;
  if (settings.device != nullptr && settings.precision != pair::Precision::double_precision)
    settings.device->attempt(
        [&] { atoms = std::make_unique<DeviceAtoms>(threads, *settings.device, settings.force_groups.size()); });
  return atoms;
}

}  // namespace

Forces::Forces(const model::System& system, const EngineSettings& settings, const Plan& plan, domain::Domain& domain,
               const Topology& topology, const external::ExternalForces& external, const comm::Communicator& comm,
               ThreadPool& threads)
    : system_(system),
      settings_(settings),
      domain_(domain),
      topology_(topology),
      comm_(comm),
      threads_(threads),
      tables_(bonded::make_force_tables(system.force_field)),
      on_device_(make_atoms_on_device(settings, threads)),
      pair_(domain, settings.pair,
            {.steps = settings.list_steps, .timestep = settings.timestep, .most_reach = 0.5 * plan.cells.buffer},
            settings.precision, threads, on_device_.get()),
      mesh_(settings, plan.mesh, domain, comm, threads, on_device_.get()),
      external_(external, domain, comm),
      restraints_(settings, domain, comm, threads),
      groups_(settings.force_groups.size()),
      constraint_virial_(at(threads.size())),
      virial_within_groups_(at(threads.size())) {
  if (on_device_ != nullptr)
    on_device_->in_use().attempt(
        [&] { bonded_on_device_ = std::make_unique<bonded::DeviceBonded>(tables_, *on_device_); });
  if (settings.lj_tail) tail_ = pair_.tail();
  for (auto& group : groups_) {
    group.of_thread.resize(at(threads.size()) - 1);
    group.energies.resize(at(threads.size()));
    group.accumulators.resize(at(threads.size()));
  }
}

void Forces::rebuild() {
  for (auto& group : groups_) {
    group.force.assign(3 * at(domain_.n_slots()), 0);  // resize() would take more room than that
    for (auto& force : group.of_thread) force.resize(at(domain_.n_slots()));
  }
  if (groups_.size() > 1) total_.assign(3 * at(domain_.n_slots()), 0);
  has_total_on_device_ = false;
  pair_.rebuild();
  mesh_.rebuild(pair_.charge());
  if (search_ != nullptr) search_->forget_atoms();
  if (on_device_ != nullptr)
    on_device_->in_use().attempt([&] {
      on_device_->rebuild(at(domain_.n_slots()));
      if (bonded_on_device_ != nullptr) bonded_on_device_->set_terms(topology_.terms(), pair_.charge());
    });
  external_.rebuild();
  restraints_.rebuild();
}

void Forces::set_box(const Box& before) {
  pair_.set_box(before);
  mesh_.set_box(domain_.state().box);
}

void Forces::clear(StepSums sums, GroupSet due) {
  due_ = due;
  threads_.run([&](int thread) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!due_[g]) continue;
      auto& [force, of_thread, energies, accumulators] = groups_[g];
      const auto n = std::ssize(force), n_threads = std::ptrdiff_t{threads_.size()};
      std::fill(force.begin() + n * thread / n_threads, force.begin() + n * (thread + 1) / n_threads, 0);
      if (thread > 0) of_thread[at(thread) - 1].clear();
    }
  });
  clear_sums(sums);
}

/// Clears energies and virials of the groups that are due, of which so much is summed in this step.
void Forces::clear_sums(StepSums sums) {
  has_sums_on_device_ = false;
  for (std::size_t thread = 0; thread < at(threads_.size()); ++thread) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!due_[g]) continue;
      auto& [force, of_thread, energies, accumulators] = groups_[g];
      energies[thread] = {};
      accumulators[thread] = {force, sums == StepSums::none ? nullptr : &energies[thread],
                              thread == 0 ? nullptr : &of_thread[thread - 1]};
      accumulators[thread].needs_pair_energies = sums == StepSums::energies;
    }
    constraint_virial_[thread] = virial_within_groups_[thread] = {};
  }
}

/// Returns the groups that are due of what a device may compute.
GroupSet Forces::due_on_device() const {
  GroupSet groups;
  for (const auto source : {ForceSource::bonded, ForceSource::direct, ForceSource::mesh})
    if (is_due(source)) groups.set(settings_.force_groups[source]);
  return groups;
}

void Forces::start_device() {
  has_started_bonded_ = has_total_on_device_ = false;
  if (on_device_ == nullptr) return;
  on_device_->in_use().attempt([&] { on_device_->start(domain_.state().position, due_on_device()); });
  start_sums_on_device(nullptr);
}

/// Begins with all forces of the groups that are due, which have been cleared on the device. `charge` is as
/// ClusterSum::start_forces has it.
void Forces::start_sums_on_device(const double* charge) {
  const auto total = [&](ForceSource source) { return on_device_->total(settings_.force_groups[source]); };
  const auto accumulators = [&](ForceSource source) -> auto& { return group_of(source).accumulators; };
  if (is_due(ForceSource::direct))
    pair_.start_forces(accumulators(ForceSource::direct), total(ForceSource::direct), charge);
  if (is_due(ForceSource::mesh))
    mesh_.start(total(ForceSource::mesh), accumulators(ForceSource::mesh).front().energies != nullptr);
  if (is_due(ForceSource::bonded) && bonded_on_device_ != nullptr)
    has_started_bonded_ = on_device_->in_use().attempt([&] {
      bonded_on_device_->start(domain_.state().box, total(ForceSource::bonded),
                               accumulators(ForceSource::bonded).front().energies != nullptr);
    });
}

void Forces::finish_device() {
  if (on_device_ == nullptr) return;
  const auto groups = due_on_device();
  const bool is_done = on_device_->in_use().attempt([&] {
    do on_device_->fetch(groups);
    while (!pair_.has_device_ended());
  });
  has_total_on_device_ = is_done && are_all_on_device() && is_device_sound();
  if (is_done) {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups[g]) on_device_->add_to(g, groups_[g].force);
  }
  if (!std::exchange(has_started_bonded_, false)) return;
  if (!is_done) {
    add_bonded_here();
  } else if (auto* energies = group_of(ForceSource::bonded).accumulators.front().energies) {
    bonded_on_device_->add_sums(*energies);
  }
}

bool Forces::are_all_on_device() const {
  const bool is_alone = comm_.size() == 1 && groups_.size() == 1 && system_.is_periodic;
  const bool has_others = has_external() || has_restraints() || topology_.has_virtual_sites();
  return on_device_ != nullptr && on_device_->in_use().error().empty() && is_alone && !has_others &&
         pair_.sum().is_on_device() && bonded_on_device_ != nullptr && !mesh_.needs_processors();
}

void Forces::start_on_device(StepSums sums) {
  due_ = all_groups;
  clear_sums(sums);
  has_sums_on_device_ = sums != StepSums::none;
  on_device_->in_use().attempt([&] { on_device_->start_forces(due_on_device()); });
  start_sums_on_device(bonded_on_device_->charge());
}

void Forces::start_check() {
  pair_.start_coordinates();
  mesh_.start_check();
}

/// Tells whether the device has room for what its searches need: what the search keeps, second halves of arrays by slot, and
/// excluded atoms.
bool Forces::has_room_for_search() const {
  constexpr double of_slot = 128;  // about
  const double slots = on_device_->n_slots();
  const double planned =
      domain::DeviceSearch::planned_bytes(slots, static_cast<double>(system_.n_atoms()), domain_.n_cells()) +
      of_slot * slots;
  return static_cast<double>(on_device_->device().free_bytes()) > planned;
}

const domain::SortedAtoms* Forces::search_on_device() {
  const bool serves = domain::DeviceSearch::serves(domain_);
  if (!serves || (search_ == nullptr && !has_room_for_search()) || !pair_.can_follow_on_device()) return nullptr;
  const domain::SortedAtoms* sorted = nullptr;
  const bool is_done = on_device_->in_use().attempt([&] {
    if (search_ == nullptr) search_ = std::make_unique<domain::DeviceSearch>(domain_, *on_device_);
    sorted = search_->search();
    if (sorted != nullptr) bonded_on_device_->follow(*sorted);
  });
  if (!is_done || sorted == nullptr) return nullptr;
  pair_.follow_on_device(*sorted);
  mesh_.follow_on_device(*sorted);
  return sorted;
}

void Forces::take_sums_of_device() {
  if (!std::exchange(has_sums_on_device_, false)) return;
  auto& sums = groups_.front().energies.front();
  pair_.add_sums_of_device(sums);
  mesh_.add_sums_of_device(sums);
  bonded_on_device_->add_sums(sums);
}

void Forces::follow_box_on_device() {
  pair_.follow_box_on_device();
  mesh_.set_box(domain_.state().box);
}

bool Forces::were_last_sound() const {
  return on_device_->in_use().error().empty() && pair_.sum().n_last_clashes_on_device() == 0 &&
         !mesh_.had_last_too_much_charge();
}

bool Forces::is_device_sound() const {
  return on_device_->in_use().error().empty() && pair_.sum().n_clashes_on_device() == 0 && !mesh_.had_too_much_charge();
}

void Forces::add_bonded() {
  if (is_due(ForceSource::bonded) && !has_started_bonded_) add_bonded_here();
}

void Forces::add_bonded_here() {
  threads_.run([&](int thread) {
    bonded::add_all(domain_.state().box, domain_.state().position, pair_.charge(), topology_.terms(), tables_, thread,
                    threads_.size(), group_of(ForceSource::bonded).accumulators[at(thread)]);
  });
}

/// Adds the forces of other threads to the elements [begin, end) of the group's forces.
void Forces::sum_threads(Group& group, std::int64_t begin, std::int64_t end) {
  if (group.of_thread.empty()) return;
  constexpr auto block_values = static_cast<std::int64_t>(SparseForces::block_values);
  const auto first = begin / block_values, n_blocks = (end + block_values - 1) / block_values - first;
  threads_.parallel_for(n_blocks, [&](std::int64_t from, std::int64_t to) {
    for (const auto& force : group.of_thread)
      for (auto block = first + from; block < first + to; ++block)
        force.add_block_to(group.force, at(block), at(begin), at(end));
  });
}

/// Returns the last group that is due, or the number of groups where none is.
std::size_t Forces::last_due_group() const {
  for (auto g = groups_.size(); g-- > 0;)
    if (due_[g]) return g;
  return groups_.size();
}

void Forces::start_return() {
  // The mesh adds to owned atoms alone. Of several groups, the last one's forces travel while the mesh is at work.
  const auto last = last_due_group();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!due_[g]) continue;
    auto& force = groups_[g].force;
    sum_threads(groups_[g], n_owned_values(), std::ssize(force));
    domain_.start_return_of_forces(force);
    if (g != last) domain_.finish_return_of_forces(force);
  }
}

void Forces::sum_threads_of_owned() {
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (due_[g]) sum_threads(groups_[g], 0, n_owned_values());
}

void Forces::finish_return() {
  const auto last = last_due_group();
  if (last < groups_.size()) domain_.finish_return_of_forces(groups_[last].force);
  sum_groups();
}

void Forces::sum_groups() {
  if (groups_.size() == 1) return;
  total_ = groups_.front().force;
  for (std::size_t g = 1; g < groups_.size(); ++g)
    for (std::size_t i = 0; i < at(n_owned_values()); ++i) add_fixed(total_[i], groups_[g].force[i]);
}

Forces::Kept Forces::keep() const {
  Kept kept{.of_group = {}, .total = total_};
  for (const auto& group : groups_) kept.of_group.push_back(group.force);
  return kept;
}

void Forces::put_back(Kept kept) {
  has_total_on_device_ = false;
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].force = std::move(kept.of_group[g]);
  total_ = std::move(kept.total);
}

void Forces::spread_virtual_sites() {
  const auto& state = domain_.state();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!due_[g]) continue;
    std::span<EnergyVirial> virial;
    if (groups_[g].accumulators.front().energies != nullptr) virial = groups_[g].energies;
    virtual_site::spread_all(topology_.virtual_sites(), state.box, state.position, groups_[g].force, virial, threads_);
  }
  sum_groups();
}

Vec3 Forces::value_of(const std::vector<std::int64_t>& force, std::int32_t slot) {
  const auto* f = &force[3 * at(slot)];
  return {from_fixed(f[0], force_unit), from_fixed(f[1], force_unit), from_fixed(f[2], force_unit)};
}

namespace {

// Values of a group: energies and the virial, the same in the unit of clashes, the virial in its exact unit.
constexpr std::size_t n_values = n_terms + 6, n_of_group = 2 * n_values + 6;

}  // namespace

std::int64_t Forces::n_summed(std::size_t n_groups) {
  return static_cast<std::int64_t>(n_of_group * (n_groups + 2) + 1);  // constraints, within groups; kinetic energy
}

Energies Forces::sum_energies(std::int64_t kinetic, std::int64_t degrees_of_freedom) const {
  const auto within_groups = groups_.size(), of_constraints = within_groups + 1;
  std::vector<EnergyVirial> sums(groups_.size() + 2);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const auto& part : groups_[g].energies) sums[g].merge(part);
  for (const auto& part : virial_within_groups_) sums[within_groups].merge(part);
  for (const auto& part : constraint_virial_) sums[of_constraints].merge(part);
  std::vector<std::int64_t> all;
  all.reserve(at(n_summed(groups_.size())));
  for (const auto& sum : sums) {
    all.insert(all.end(), sum.energy.begin(), sum.energy.end());
    all.insert(all.end(), sum.virial.begin(), sum.virial.end());
    all.insert(all.end(), sum.energy_of_clashes.begin(), sum.energy_of_clashes.end());
    all.insert(all.end(), sum.virial_of_clashes.begin(), sum.virial_of_clashes.end());
    all.insert(all.end(), sum.virial_remainder.begin(), sum.virial_remainder.end());
  }
  all.push_back(kinetic);
  comm_.all_reduce_sum(all);

  const auto value = [&](std::size_t group, std::size_t i) {
    const auto* of_group = &all[n_of_group * group];
    return from_fixed(of_group[i], energy_unit) + from_fixed(of_group[n_values + i], large_energy);
  };
  const auto virial_of = [&](std::size_t group, std::size_t c) {
    // The remainder is carried, so that the sum does not depend on where it was cut off.
    const auto* of_group = &all[n_of_group * group];
    const auto remainder = of_group[2 * n_values + c];
    auto whole = of_group[n_terms + c];
    add_fixed(whole, remainder >> exact_virial_bits);
    return from_fixed(whole, energy_unit) + from_fixed(of_group[n_values + n_terms + c], large_energy);
  };
  Energies energies;
  if (groups_.size() > 1) energies.group_virial.resize(groups_.size());
  for (std::size_t g = 0; g < energies.group_virial.size(); ++g)
    for (std::size_t c = 0; c < 6; ++c) energies.group_virial[g][c] = virial_of(g, c);
  const auto add = [&](std::size_t g) {  // integers first, so that groups change no bit of the sum
    for (std::size_t i = 0; i < n_of_group; ++i) add_fixed(all[i], all[n_of_group * g + i]);
  };
  for (std::size_t g = 1; g < groups_.size(); ++g) add(g);
  for (std::size_t c = 0; c < 6; ++c) energies.group_scaling_virial[c] = virial_of(0, c) - virial_of(within_groups, c);
  add(of_constraints);
  for (std::size_t t = 0; t < n_terms; ++t) energies.term[t] = value(0, t);
  for (std::size_t c = 0; c < 6; ++c) energies.virial[c] = virial_of(0, c);
  energies.kinetic = from_fixed(all.back(), energy_unit);

  // Terms that depend on the composition and the box alone.
  const auto& pair = settings_.pair;
  const double volume = domain_.state().box.volume();
  auto& term = energies.term;
  if (pair.electrostatics == pair::Electrostatics::pme) {
    term[static_cast<std::size_t>(Term::coulomb_self)] =
        pme::self_energy(pair.coulomb_constant, pair.alpha, system_.sum_of_squared_charges());
    term[static_cast<std::size_t>(Term::coulomb_background)] =
        pme::background_energy(pair.coulomb_constant, pair.alpha, system_.net_charge(), volume);
  }
  if (pair.lj == pair::LjModifier::pme) {
    const auto c = pme::dispersion_coefficients(system_.force_field);
    const auto counts = system_.type_counts();
    double squares = 0;
    for (std::size_t type = 0; type < c.size(); ++type)
      squares += static_cast<double>(counts[type]) * c[type] * c[type];
    term[static_cast<std::size_t>(Term::lj_mesh)] += pme::dispersion_self_energy(pair.lj_alpha, squares);
  }
  term[static_cast<std::size_t>(Term::lj_tail)] = tail_.energy / volume;
  for (std::size_t d = 0; d < 3; ++d)  // both go with 1/V: each diagonal component is the energy's, or P·V
    for (auto* virial : {&energies.virial, &energies.group_scaling_virial})
      (*virial)[d] += energies[Term::coulomb_background] + tail_.virial / volume;

  energies.temperature = 2 * energies.kinetic / (static_cast<double>(degrees_of_freedom) * units::boltzmann);
  const double trace = energies.virial[0] + energies.virial[1] + energies.virial[2];
  energies.box = system_.is_periodic ? domain_.state().box : Box({}, {}, {});
  if (system_.is_periodic) {
    energies.pressure = (2 * energies.kinetic + trace) / (3 * volume) * units::bar;
    energies.density = system_.total_mass() / volume * units::density;
  }
  return energies;
}

Clashes Forces::find_clashes() const {
  Clashes own, all;
  for (const auto& group : groups_)
    for (const auto& part : group.energies) own.merge(part.clashes);
  for (const auto& block : comm_.all_gather(comm::bytes_of(own.nearest)))
    for (const auto& clash : comm::values_of<ClashingAtoms>(block)) all.add(clash);
  all.count = comm::all_reduce_sum(comm_, own.count);
  all.is_energy_limited = comm::all_reduce_max(comm_, own.is_energy_limited ? 1 : 0) != 0;
  return all;
}

std::string Forces::describe_strongest(std::int32_t slot) const {
  auto parts = parts_of_force({domain_, topology_.terms(), tables_, pair_}, in_question(slot), false);
  parts.push_back(part_of(OtherSource::external, external_.latest_on(slot)));
  return strongest_of(parts).describe(system_);
}

AtomInQuestion Forces::in_question(std::int32_t slot) const {
  return {domain_.state().id[at(slot)], domain_.state().position[at(slot)], pair_.type()[at(slot)],
          static_cast<double>(pair_.charge()[at(slot)])};
}

StrongestForce Forces::find_strongest(std::int64_t atom) {
  const auto slot = domain_.slot_of(atom);
  const bool is_owned = slot >= 0 && slot < domain_.n_owned_slots();
  std::vector<AtomInQuestion> found;
  if (is_owned) found.push_back(in_question(slot));
  for (const auto& block : comm_.all_gather(comm::bytes_of(found)))
    for (const auto& one : comm::values_of<AtomInQuestion>(block)) found = {one};
  auto own = parts_of_force({domain_, topology_.terms(), tables_, pair_}, found.at(0), true);
  if (is_owned) own.push_back(part_of(OtherSource::external, external_.latest_on(slot)));

  std::vector<std::int64_t> force(3 * at(domain_.n_slots()));
  std::vector<Accumulator> accumulators(at(threads_.size()), Accumulator{force, nullptr});  // an atom is of one thread
  if (has_restraints()) restraints_.add(accumulators);
  if (is_owned) own.push_back(part_of(OtherSource::restraint, value_of(force, slot)));

  std::vector<PartOfForce> parts;
  for (const auto& block : comm_.all_gather(comm::bytes_of(own)))
    for (const auto& part : comm::values_of<PartOfForce>(block)) parts.push_back(part);
  return strongest_of(parts);
}

std::int64_t Forces::device_bytes() const {
  if (on_device_ == nullptr) return 0;
  return on_device_->bytes() + pair_.sum().device_bytes() + mesh_.device_bytes() +
         (bonded_on_device_ != nullptr ? bonded_on_device_->bytes() : 0) + (search_ != nullptr ? search_->bytes() : 0);
}

std::vector<MemoryUse> Forces::memory() const {
  std::size_t forces = total_.capacity() * sizeof(std::int64_t);
  if (on_device_ != nullptr) forces += on_device_->host_bytes();
  if (search_ != nullptr) forces += search_->host_bytes();
  for (const auto& group : groups_) {
    forces += group.force.capacity() * sizeof(std::int64_t);
    for (const auto& force : group.of_thread) forces += force.bytes();
  }
  const auto use = [](std::string_view owner, std::size_t bytes) {
    return MemoryUse{owner, static_cast<std::int64_t>(bytes)};
  };
  return {use(memory_owners::forces, forces), use(memory_owners::pair_atoms, pair_.bytes()),
          use(memory_owners::pair_list, pair_.sum().list_bytes()),
          use(memory_owners::pair_forces, pair_.sum().other_bytes()), use(memory_owners::mesh, mesh_.bytes())};
}

}  // namespace tessera::md
