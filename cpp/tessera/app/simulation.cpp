#include "tessera/app/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

#include "tessera/app/gather.h"
#include "tessera/app/restart/fingerprint.h"
#include "tessera/app/start/coordinates.h"
#include "tessera/app/start/start.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/comm/job.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/checksum.h"
#include "tessera/md/blow_up.h"

namespace tessera::app {

namespace {

/// Adds positions and velocities of atoms in id order.
void add_to(io::Checksum& hash, const md::Particles& atoms) {
  struct PlaceAndVelocity {
    Fraction position;
    md::Velocity velocity;
  };
  std::vector<PlaceAndVelocity> values;
  values.reserve(atoms.size());
  for (const auto& p : atoms.atoms) values.push_back({p.position + p.displacement, p.velocity});
  hash.add(comm::bytes_of(values));
}

void add_to(io::Checksum& hash, const Box& box) {
  const auto &a = box.a(), &b = box.b(), &c = box.c();
  const std::array<double, 6> values = {a.x, b.x, b.y, c.x, c.y, c.z};
  hash.add(std::as_bytes(std::span(values)));
}

/// Returns how many of the ranks before this one are on its host.
int turn_on_host(const comm::Communicator& comm) {
  const auto hosts = comm.all_gather(comm::bytes_of(comm::Communicator::host()));
  const auto own = hosts.begin() + comm.rank();
  return static_cast<int>(std::count(hosts.begin(), own, *own));
}

}  // namespace

Simulation::Simulation(const model::System& system, const RunConfig& config, const md::EngineSettings& settings,
                       const comm::Communicator& comm, ThreadPool& threads, const std::filesystem::path& kernels)
    : system_(system), config_(config), settings_(settings), comm_(comm), threads_(threads) {
  if (config_.parallel.device == DeviceChoice::gpu) open_device(kernels);
  auto plan = md::plan_for_ranks(system_, settings_, system_.box, comm_, threads_);
  engine_.emplace(system_, settings_, std::move(plan), comm_, threads_);
}

void Simulation::open_device(const std::filesystem::path& kernels) {
  const int turn = turn_on_host(comm_);
  std::string problem;
  try {
    device_.emplace(turn, device::driver_library, kernels);
    settings_.device = &*device_;
  } catch (const RunError& error) {
    problem = fmt::format("parallel.device = \"gpu\": {}", error.what());
  }
  comm::agree_on_run(comm_, problem);
}

/// Says once on this rank that its GPU has failed. Its forces are the same without it.
void Simulation::tell_device_error() {
  const auto& error = device_error();
  if (error.empty() || has_told_device_error_) return;
  has_told_device_error_ = true;
  if (config_.parallel.on_device_error == OnDeviceError::go_on)
    comm::print_note("tessera-md", error + "; the run goes on by the CPU, with the same result");
}

void Simulation::start(CoordinateBlock block, std::optional<Origin> origin) {
  origin_ = std::move(origin);
  begin(*engine_, std::move(block), config_, comm_);
}

void Simulation::start_to_minimize(CoordinateBlock block, std::optional<Origin> origin) {
  origin_ = std::move(origin);
  block.velocity.clear();
  check_every_atom_once(comm_, block, system_,
                        config_.input.start.empty() ? config_.input.system : config_.input.start);
  engine_->set_state(make_start(system_, block));
}

void Simulation::start(Checkpoint& checkpoint) {
  origin_ = checkpoint.origin;
  engine_->set_state(std::exchange(checkpoint.state, {}));
  engine_->measure();
}

void Simulation::place(md::Snapshot state) {
  md::search_here(state);
  engine_->set_state(std::move(state));
  engine_->constrain_start();
  engine_->measure();
}

md::minimize::Result Simulation::minimize(const md::minimize::Settings& settings, const md::minimize::Watch& watch) {
  auto result = md::minimize::minimize(*engine_, settings, comm_, threads_, watch);
  engine_->measure();
  return result;
}

void Simulation::set_external_forces(md::external::ExternalForces forces) {
  engine_->set_external_forces(std::move(forces));
  engine_->measure();
}

void Simulation::set_baths(const RunConfig& config, const md::integrate::BathSettings& baths) {
  config_ = config;
  settings_.baths = baths;
  engine_->set_baths(baths);
}

void Simulation::set_box(const Box& box) {
  engine_->set_box(box);
  engine_->constrain_start();
  engine_->measure();
}

md::StrongestForce Simulation::find_strongest_force(std::int64_t atom) { return engine_->find_strongest_force(atom); }

void Simulation::detach(const Observer& observer) { std::erase(observers_, &observer); }

void Simulation::run() {
  first_step_ = current_step();
  for (auto* observer : observers_) observer->start(*this);
  engine_->timers().reset();
  const auto start = std::chrono::steady_clock::now();
  advance(last_step(), true);
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (auto* observer : observers_) observer->finish(*this);
}

/// Does a step; whatever ends it is of the atoms and the box, and no fault of files.
void Simulation::step_engine(bool with_energies) {
  try {
    engine_->step(with_energies);
  } catch (const md::integrate::BlowUp&) {
    throw;
  } catch (const RunError& error) {
    throw md::integrate::BlowUp(error.what());
  }
}

void Simulation::advance(std::int64_t last_step, bool with_energies) {
  is_stopped_ = false;
  while (current_step() < last_step && !is_stopped_) {
    const auto step = current_step() + 1;
    tell_device_error();
    step_engine((with_energies && step == last_step) ||
                std::any_of(observers_.begin(), observers_.end(),
                            [&](const auto* observer) { return observer->needs_energies(step); }));
    engine_->timers().time(md::Phase::observers, [&] {
      for (auto* observer : observers_) observer->after_step(*this);
    });
  }
}

std::string Simulation::state_hash() const {
  io::Checksum hash;
  for_id_ranges(system_.n_atoms(),
                [&](std::int64_t begin, std::int64_t end) { add_to(hash, gather_state(*engine_, comm_, begin, end)); });
  // A run that keeps its box is known by its atoms alone.
  if (const auto& box = engine_->global().box; !(box == system_.box)) add_to(hash, box);
  std::string text;
  if (comm_.is_root()) text = hash.finish();
  comm::broadcast_resized(comm_, text);
  return text;
}

void Simulation::save(const std::string& folder) {
  if (!saving_ || saving_->folder() != folder) saving_.emplace(folder, comm_);
  save(*saving_, {});
}

void Simulation::save(CheckpointWriter& writer, Checkpoint checkpoint) {
  engine_->check();
  on_root(comm_, [&] { complete(checkpoint); });
  writer.write(checkpoint, *engine_);
}

void Simulation::complete(Checkpoint& checkpoint) {
  if (fingerprint_.is_null()) fingerprint_ = fingerprint(system_);
  checkpoint.state = engine_->snapshot(0, 0);
  checkpoint.simd = instruction_set();
  checkpoint.settings = bit_settings(config_, settings_, fingerprint_);
  checkpoint.start = start_settings(config_);
  checkpoint.origin = origin_;
}

std::int64_t Simulation::checkpoint_bytes() {
  constexpr std::int64_t numbers_that_grow = 4096;  // steps and sums get more digits
  std::int64_t bytes = 0;
  on_root(comm_, [&] {
    Checkpoint checkpoint;
    complete(checkpoint);
    const auto header = text_of_header(checkpoint, system_.n_atoms());
    bytes = lay_out_checkpoint(std::ssize(header) + numbers_that_grow, system_.n_atoms(),
                               values_of(checkpoint.state.fields))
                .file_bytes();
  });
  comm_.broadcast(std::as_writable_bytes(std::span(&bytes, 1)), 0);
  return bytes;
}

void Simulation::move_cells(md::domain::Decomposition decomposition) {
  engine_->check();
  const auto timers = engine_->timers();
  engine_->set_bricks(std::move(decomposition));
  engine_->measure();
  engine_->timers() = timers;
}

}  // namespace tessera::app
