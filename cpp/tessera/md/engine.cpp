#include "tessera/md/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/units.h"
#include "tessera/md/blow_up.h"
#include "tessera/md/bonded/bonded.h"
#include "tessera/md/pme/plan.h"

namespace tessera::md {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// How far apart the key atom of a bonded term and another of its atoms may be, Å: a stretched 1-4 pair.
constexpr double bonded_reach = 4.5;

double mesh_reach(const model::System& system, const EngineSettings& settings) {
  if (settings.pair.electrostatics != pair::Electrostatics::pme) return 0;
  return pme::spline_reach(system.lattice.edges(), settings.pme_grid, settings.pme_order);
}

/// What a search finds must hold until the next: atoms may come closer by the buffer meanwhile.
domain::CellDemands cell_demands(const model::System& system, const EngineSettings& settings) {
  return {.list_range = settings.pair.range() + settings.buffer,
          .group_radius = group_radius(system),
          .bonded_reach = bonded_reach,
          .mesh_reach = mesh_reach(system, settings),
          .buffer = settings.buffer};
}

void check_cutoff(const model::System& system, const EngineSettings& settings) {
  const auto edges = system.lattice.edges();
  if (!system.is_periodic) return;
  for (std::size_t d = 0; d < 3; ++d)
    if (edges[d] < 2 * settings.pair.range())
      throw InputError(fmt::format(
          "box edge {} is {:.3f} Å, less than twice {} = {} Å; an atom would meet two images of another: use a larger "
          "box or a cut-off of at most {:.3f} Å",
          "xyz"[d], edges[d], settings.pair.range() > settings.pair.cutoff ? "pme.cutoff" : "interactions.cutoff",
          settings.pair.range(), 0.5 * edges[d]));
}

}  // namespace

double Energies::potential() const {
  double sum = 0;
  for (const double t : term) sum += t;
  return sum;
}

domain::CellGrid plan_cells(const model::System& system, const EngineSettings& settings) {
  check_cutoff(system, settings);
  return domain::plan_cell_grid(system.lattice, cell_demands(system, settings));
}

double widest_buffer(const model::System& system, const EngineSettings& settings) {
  const double spare = domain::spare_buffer(plan_cells(system, settings), cell_demands(system, settings));
  return settings.buffer + std::min(spare, settings.buffer);
}

domain::Decomposition plan_decomposition(const model::System& system, const EngineSettings& settings,
                                         const comm::Communicator& comm) {
  const auto line = settings.reorder ? comm::agree_on_line(comm, settings.machine_file).line
                                     : comm::RankLine::as_numbered(comm.size());
  return domain::plan_decomposition(plan_cells(system, settings), line);
}

Engine::Engine(const model::System& system, const EngineSettings& settings, const comm::Communicator& comm,
               ThreadPool& threads)
    : Engine(system, settings, plan_decomposition(system, settings, comm), comm, threads) {}

Engine::Engine(const model::System& system, const EngineSettings& settings, domain::Decomposition decomposition,
               const comm::Communicator& comm, ThreadPool& threads)
    : system_(system),
      settings_(settings),
      comm_(comm),
      threads_(threads),
      domain_(system, std::move(decomposition), comm, threads),
      topology_(system, settings.constraints),
      tables_(bonded::make_force_tables(system.force_field)),
      pair_(domain_, settings.pair,
            {.steps = settings.list_steps, .timestep = settings.timestep, .most_reach = 0.5 * settings.buffer},
            pair::find_pair_scheme(settings.pair_scheme, settings.double_precision, settings.pair.function), threads),
      mesh_({.active = settings.pair.electrostatics == pair::Electrostatics::pme,
             .double_precision = settings.double_precision,
             .order = settings.pme_order,
             .alpha = settings.pair.alpha,
             .grid = settings.pme_grid,
             .coulomb_constant = settings.pair.coulomb_constant,
             .stray = group_radius(system) + 0.5 * settings.buffer,
             .fft_scheme = settings.fft_scheme,
             .fft_exchange = settings.fft_exchange,
             .machine_file = settings.machine_file},
            domain_, comm, threads) {
  // Three degrees of freedom go with the centre of mass, which stays where it is.
  degrees_of_freedom_ = std::max<std::int64_t>(1, 3 * system.n_atoms() - topology_.n_constraints() - 3);
  if (settings.lj_tail) tail_ = pair_.tail();
  thread_force_.resize(at(threads.size()) - 1);
  thread_energies_.resize(at(threads.size()));
  accumulators_.resize(at(threads.size()));
}

void Engine::set_state(std::vector<domain::Particle> particles, std::int64_t step, std::int64_t last_search) {
  domain_.distribute(std::move(particles));
  rebuild_lists();
  domain_.apply_displacements();
  step_ = step;
  last_search_ = last_search;
}

std::vector<domain::Particle> Engine::owned_particles(std::int64_t begin, std::int64_t end) const {
  std::vector<domain::Particle> particles;
  particles.reserve(at(std::min<std::int64_t>(domain_.n_owned_atoms(), end - begin)));
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s)
    if (domain_.id[at(s)] >= begin && domain_.id[at(s)] < end)  // not that of padding
      particles.push_back({domain_.id[at(s)], domain_.reference[at(s)], domain_.velocity[at(s)],
                           domain_.position[at(s)] - domain_.reference[at(s)]});
  return particles;
}

Vec3 Engine::force(std::int32_t slot) const {
  const auto* f = &force_[3 * at(slot)];
  return {from_fixed(f[0], force_unit), from_fixed(f[1], force_unit), from_fixed(f[2], force_unit)};
}

/// Everything that follows from which atoms are in which slots.
void Engine::rebuild_lists() {
  inverse_mass_.assign(at(domain_.n_owned_slots()), 0);
  threads_.parallel_for(domain_.n_owned_slots(), [&](std::int64_t begin, std::int64_t end) {
    for (auto s = static_cast<std::int32_t>(begin); s < end; ++s)
      if (!domain_.is_padding(s)) inverse_mass_[at(s)] = 1 / domain_.molecule_of(s).mass[at(domain_.local[at(s)])];
  });
  force_.assign(3 * at(domain_.n_slots()), 0);  // resize() would take more room than that
  for (auto& force : thread_force_) force.resize(at(domain_.n_slots()));
  std::string torn;
  try {
    topology_.rebuild(domain_, threads_);
  } catch (const RunError& error) {
    torn = fmt::format("step {}: {}", step_, error.what());
  }
  comm::agree_on_run(comm_, torn);
  pair_.rebuild();
  mesh_.rebuild(pair_.charge());
  ++n_searches_;
}

void Engine::search() {
  domain_.rebuild();
  rebuild_lists();
  last_search_ = step_;
}

/// Two atoms may have moved towards each other; a thousandth covers the list's single precision. Å.
double Engine::allowed_displacement() const { return 0.5 * settings_.buffer - 1e-3; }

/// A guess, by the last check: whether this step's will find that a search is due. An atom that goes far goes straight.
bool Engine::expects_search() const {
  const auto steps = static_cast<double>(step_ - last_search_);
  const double moved = std::sqrt(std::bit_cast<double>(check_[displacement2]));
  return is_search_due() || (steps > 1 && moved * (steps + 0.5) / (steps - 1) >= allowed_displacement());
}

void Engine::start_check() {
  // Squares of lengths are not negative, and such doubles compare like the integers of their bits.
  check_ = {std::bit_cast<std::int64_t>(domain_.greatest_displacement2()), !blow_up_.empty(), !pair_.list_holds()};
  check_request_ = comm_.start_all_reduce_max(check_);
}

/// Whether cells may miss a pair, or a search is due: the same answer on all ranks. Throws RunError where a rank blew
/// up.
bool Engine::must_search() {
  comm::Communicator::wait_all(std::span(&check_request_, 1));
  if (check_[has_blown_up] != 0) comm::agree_on_run(comm_, blow_up_);
  const double moved2 = std::bit_cast<double>(check_[displacement2]);
  return is_search_due() || !(moved2 < allowed_displacement() * allowed_displacement());
}

void Engine::clear_forces(bool with_energies) {
  threads_.run([&](int thread) {
    const auto n = std::ssize(force_), n_threads = std::ptrdiff_t{threads_.size()};
    std::fill(force_.begin() + n * thread / n_threads, force_.begin() + n * (thread + 1) / n_threads, 0);
    auto* own = thread == 0 ? nullptr : &thread_force_[at(thread) - 1];
    if (own != nullptr) own->clear();
    thread_energies_[at(thread)] = {};
    accumulators_[at(thread)] = {force_, with_energies ? &thread_energies_[at(thread)] : nullptr, own};
  });
}

void Engine::add_bonded_forces() {
  threads_.run([&](int thread) {
    bonded::add_all(system_.lattice, domain_.position, pair_.charge(), topology_.terms(), tables_, thread,
                    threads_.size(), accumulators_[at(thread)]);
  });
}

/// Of the elements [begin, end) of force_.
void Engine::sum_threads(std::int64_t begin, std::int64_t end) {
  if (thread_force_.empty()) return;
  constexpr auto block_values = static_cast<std::int64_t>(SparseForces::block_values);
  const auto first = begin / block_values, n_blocks = (end + block_values - 1) / block_values - first;
  threads_.parallel_for(n_blocks, [&](std::int64_t from, std::int64_t to) {
    for (const auto& force : thread_force_)
      for (auto block = first + from; block < first + to; ++block)
        force.add_block_to(force_, at(block), at(begin), at(end));
  });
}

Clashes Engine::find_clashes() const {
  Clashes own, all;
  for (const auto& part : thread_energies_) own.merge(part.clashes);
  for (const auto& block : comm_.all_gather(comm::bytes_of(own.nearest)))
    for (const auto& clash : comm::values_of<ClashingAtoms>(block)) all.add(clash);
  all.count = comm::all_reduce_sum(comm_, own.count);
  all.is_energy_limited = comm::all_reduce_max(comm_, own.is_energy_limited ? 1 : 0) != 0;
  return all;
}

/// A rank's trouble that names no atom: blamed on the fastest one. Told to all ranks by the next check.
void Engine::report_blow_up(const std::string& problem) {
  if (problem.empty() || !blow_up_.empty()) return;
  std::int32_t fastest = 0;
  double greatest = -1;
  for (std::int32_t s = 0; s < domain_.n_owned_slots(); ++s) {
    const auto& v = domain_.velocity[at(s)];
    const double speed2 = norm2(domain::velocity_unit *
                                Vec3{static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)});
    if (!domain_.is_padding(s) && speed2 > greatest) greatest = speed2, fastest = s;
  }
  blow_up_ = fmt::format("step {}: {}: the run has blown up; the fastest atom is {} at {:.0f} Å/ps, {}", step_, problem,
                         system_.describe(domain_.id[at(fastest)]), std::sqrt(greatest),
                         find_strongest_force(domain_, topology_.terms(), tables_, pair_, fastest));
}

std::vector<MemoryUse> Engine::memory() const {
  std::size_t forces = force_.capacity() * sizeof(std::int64_t);
  for (const auto& force : thread_force_) forces += force.bytes();
  const auto use = [](std::string_view owner, std::size_t bytes) {
    return MemoryUse{owner, static_cast<std::int64_t>(bytes)};
  };
  return {use("atoms and halo", domain_.bytes() + inverse_mass_.capacity() * sizeof(double)),
          use("bonded terms and groups", topology_.bytes()),
          use("forces", forces),
          use("pairs: atoms as kernels see them", pair_.bytes()),
          use("pairs: list", pair_.sum().list_bytes()),
          use("pairs: forces by thread", pair_.sum().other_bytes()),
          use("mesh", mesh_.bytes())};
}

}  // namespace tessera::md
