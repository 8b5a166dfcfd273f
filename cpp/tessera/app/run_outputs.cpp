#include "tessera/app/run_outputs.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "tessera/app/config/read_config.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/output/room.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/comm/job.h"
#include "tessera/comm/on_root.h"
#include "tessera/comm/rank_line.h"

namespace tessera::app {

namespace {

/// Returns the greatest memory that this process has had, bytes.
std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

/// Counts the cells that halos take from other hosts; returns nothing where there is one host, or where collective
/// operations move the atoms. Collective.
std::optional<HaloTraffic> halo_traffic(const md::domain::Decomposition& bricks, const comm::Communicator& comm) {
  if (bricks.is_replicated()) return std::nullopt;
  const auto host = comm::agree_on_line(comm, "").line.host_of_rank();  // hosts have names without a map, too
  const int hosts = *std::max_element(host.begin(), host.end()) + 1;
  if (hosts == 1) return std::nullopt;
  const auto cells = md::domain::count_halo(bricks, comm.rank(), host);
  const auto numbered =
      md::domain::count_halo(md::domain::plan_decomposition(bricks.grid(), comm.size()), comm.rank(), host);
  std::array<std::int64_t, 3> sums = {cells.all, cells.from_other_hosts, numbered.from_other_hosts};
  comm.all_reduce_sum(sums);
  return HaloTraffic{hosts, sums[0], sums[1], sums[2]};
}

/// Returns the settings in effect, as a run file.
std::string settings_text(const Simulation& simulation) {
  return to_toml(in_effect(simulation.config(), simulation.settings()));
}

std::unique_ptr<OutputFiles> take_folder(const RunConfig& config, const model::System& system, bool is_restart,
                                         const comm::Communicator& comm) {
  std::unique_ptr<OutputFiles> files;
  on_root(comm, [&] { files = std::make_unique<OutputFiles>(config, system, is_restart); });
  return files;
}

}  // namespace

RunOutputs::RunOutputs(const RunConfig& config, const model::System& system, bool is_restart,
                       const comm::Communicator& comm, TimeLimit* limit)
    : is_restart_(is_restart),
      files_(take_folder(config, system, is_restart, comm)),
      clock_(config.output.checkpoint_minutes, limit),
      energies_(config.output.energy_every, files_.get()),
      checkpoints_(config.output, energies_, frames_, clock_, files_.get()),
      progress_(energies_) {}

void RunOutputs::go_on_from(const CheckpointNumbers& checkpoint) {
  n_rows_ = checkpoint.energy_rows;
  n_frames_ = checkpoint.frames;
  energies_.go_on_from(checkpoint.averages);
}

void RunOutputs::attach_to(Simulation& simulation) {
  for (auto* observer : observers()) simulation.attach(*observer);
}

void RunOutputs::detach_from(Simulation& simulation) {
  for (const auto* observer : observers()) simulation.detach(*observer);
}

void RunOutputs::start(Simulation& simulation) {
  const auto bytes_of_checkpoint = simulation.checkpoint_bytes();
  on_root(simulation.comm(), [&] {
    const auto& folder = simulation.config().output.folder;
    const auto room = room_in(folder);
    if (!room) return;
    const auto planned = plan_output(simulation.config(), simulation.system(),
                                     is_restart_ ? simulation.current_step() : -1, bytes_of_checkpoint);
    const auto note = check_room(planned, *room, is_restart_ ? bytes_of_checkpoints(folder) : 0, folder);
    if (!note.empty()) comm::print_note("tessera-md", note);
  });
  checkpoints_.reserve(simulation, bytes_of_checkpoint);
  frames_.prepare(simulation);
  if (!is_restart_) return;
  const auto step = simulation.current_step();
  std::string note;
  on_root(simulation.comm(), [&] { note = files_->open_table(step, n_rows_); });
  const auto of_frames = frames_.go_on(step, n_frames_);
  on_root(simulation.comm(), [&] {
    files_->go_on(settings_text(simulation));
    if (!of_frames.empty()) note += (note.empty() ? "" : "; ") + of_frames;
    if (!note.empty()) comm::print_note("tessera-md", note);
  });
  has_begun_ = true;
}

/// Begins the files when step 1 is done: until then a run may still fail on its input.
void RunOutputs::after_step(Simulation& simulation) {
  if (has_begun_) return;
  simulation.engine().check();
  on_root(simulation.comm(), [&] { files_->begin(settings_text(simulation)); });
  frames_.begin();
  has_begun_ = true;
}

Report RunOutputs::report(Simulation& simulation, const CellBalancer* balancer) const {
  const auto& engine = simulation.engine();
  const auto& comm = simulation.comm();
  const auto& config = simulation.config();
  const auto& settings = simulation.settings();
  const auto& averages = energies_.averages();
  Report report;
  report.plans = comm.plans_used();
  report.n_atoms = simulation.system().n_atoms();
  report.ranks = comm.size();
  report.threads = simulation.threads().size();
  report.first_step = simulation.first_step();
  report.last_step = engine.current_step();
  report.timestep = config.dynamics.timestep;
  report.wall_seconds = simulation.seconds();
  for (std::size_t q = 0; q < Averages::n_quantities; ++q) {
    // Without baths the total energy is the conserved quantity, and without a box there is no density.
    if (q == Averages::conserved && settings.baths.thermostat.empty()) continue;
    if (q == Averages::density && !simulation.system().is_periodic) continue;
    const auto [mean, fluctuation] = averages.average(static_cast<Averages::Quantity>(q));
    report.averages.push_back({Averages::names[q], Averages::units[q], mean, fluctuation});
  }
  report.drift = averages.drift();
  report.folder = config.output.folder;
  report.files = {"energy.csv"};
  for (const auto& one : trajectories_of(config.output))
    report.files.push_back(std::filesystem::path(one.path).filename().string());
  for (const auto* name : {"checkpoint.tck", "settings.toml", "selections.json", "report.json"}) {
    std::error_code ignored;
    if (name == std::string_view("report.json") || std::filesystem::exists(report.folder + "/" + name, ignored))
      report.files.emplace_back(name);
  }
  if (is_restart_ && comm.is_root()) {
    std::string note;
    report.earlier_legs = read_legs(report.folder + "/report.json", note);
    if (!note.empty()) comm::print_note("tessera-md", note);
  }
  for (const auto& use : engine.memory())
    report.memory.owners.push_back({std::string(use.owner), comm::all_reduce_sum(comm, use.bytes)});
  report.memory.peak = comm::all_reduce_sum(comm, peak_bytes());
  report.memory.most_peak = comm::all_reduce_max(comm, peak_bytes());
  auto sum = simulation.timers().seconds(), most = sum;
  comm.all_reduce_sum_for_report(sum);
  comm.all_reduce_max(std::span<double>(most));
  for (std::size_t p = 0; p < md::n_phases; ++p)
    report.phases.push_back({std::string(md::phase_names[p]), sum[p] / comm.size(), most[p]});
  report.balance = balancer ? balancer->history() : std::nullopt;
  report.halo = halo_traffic(engine.domain().decomposition(), comm);
  report.state_hash = simulation.state_hash();
  report.versions = {{"tessera", TESSERA_VERSION},
                     {"mpi", comm::Communicator::library_version()},
                     {"compiler", __VERSION__},
                     {"simd", instruction_set()}};
  report.machine = machine::describe_this_host();
  report.settings = to_json(in_effect(config, settings));
  const auto where = [&](bool is_on_device) { return is_on_device ? simulation.device()->facts().name : "cpu"; };
  report.results = {{"temperature_K", engine.energies().temperature},
                    {"total_kcal_mol", engine.energies().total()},
                    {"drift_kT_ns_dof", averages.drift()},
                    {"degrees_of_freedom", engine.degrees_of_freedom()},
                    {"pair_searches", engine.n_searches()},
                    {"pair_lists", engine.n_pair_lists()},
                    {"pair_scheme", md::pair::scheme_name(settings.precision)},
                    {"device", where(engine.forces().pairs().sum().is_on_device())},
                    {"mesh_device", where(engine.forces().mesh().is_on_device())},
                    {"bonded_device", where(engine.forces().is_bonded_on_device())},
                    {"pairs_evaluated", comm::all_reduce_sum(comm, engine.forces().pairs().sum().n_evaluated())},
                    {"pair_list_bytes",
                     comm::all_reduce_sum(comm, static_cast<std::int64_t>(engine.forces().pairs().sum().list_bytes()))},
                    {"device_bytes", comm::all_reduce_max(comm, engine.device_bytes())},
                    {"steps_on_device", engine.n_steps_on_device()},
                    {"buffer", engine.plan().cells.buffer},
                    {"cells", engine.domain().grid().n},
                    {"pme_cutoff", settings.pair.range()},
                    {"pme_grid", settings.pme_grid},
                    {"pme_alpha", settings.pair.alpha}};
  return report;
}

}  // namespace tessera::app
