#include "tessera/app/run.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>

#include "tessera/app/averages.h"
#include "tessera/app/config/interactions.h"
#include "tessera/app/config/read_config.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/gather.h"
#include "tessera/app/output/output_files.h"
#include "tessera/app/output/progress.h"
#include "tessera/app/output/report.h"
#include "tessera/app/restart/checkpoint.h"
#include "tessera/app/restart/fingerprint.h"
#include "tessera/app/system_file.h"
#include "tessera/app/trial.h"
#include "tessera/base/error.h"
#include "tessera/base/units.h"
#include "tessera/comm/job.h"
#include "tessera/comm/stop_signal.h"
#include "tessera/md/balance.h"
#include "tessera/md/pair/cluster_distance.h"

namespace tessera::app {

namespace {

/// Runs a function on the root; its error becomes everybody's.
template <class Function>
void on_root(const comm::Communicator& comm, Function&& function) {
  std::string input_problem, run_problem;
  if (comm.is_root()) {
    try {
      function();
    } catch (const InputError& error) {
      input_problem = error.what();
    } catch (const RunError& error) {
      run_problem = error.what();
    }
  }
  comm::agree_on_input(comm, input_problem);
  comm::agree_on_run(comm, run_problem);
}

/// The greatest that this process has had in memory, bytes.
std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Nothing on one host. Collective.
std::optional<HaloTraffic> halo_traffic(const md::domain::Decomposition& bricks, const md::EngineSettings& settings,
                                        const comm::Communicator& comm) {
  const auto host = comm::agree_on_line(comm, settings.machine_file).line.host_of_rank();
  const int hosts = *std::max_element(host.begin(), host.end()) + 1;
  if (hosts == 1) return std::nullopt;
  const auto cells = md::domain::count_halo(bricks, comm.rank(), host);
  const auto numbered =
      md::domain::count_halo(md::domain::plan_decomposition(bricks.grid(), comm.size()), comm.rank(), host);
  std::array<std::int64_t, 3> sums = {cells.all, cells.from_other_hosts, numbered.from_other_hosts};
  comm.all_reduce_sum(sums);
  return HaloTraffic{hosts, sums[0], sums[1], sums[2]};
}

/// Whether the direct sum of the run goes beyond the cut-off of its Lennard-Jones.
bool was_split_tuned(const Checkpoint& checkpoint) {
  return checkpoint.settings.value("pme.cutoff", 0.0) > checkpoint.settings.value("interactions.cutoff", 0.0);
}

/// A run under way. All members are collective unless said.
class Run {
 public:
  Run(const RunRequest& request, const comm::Communicator& comm);
  int execute();

 private:
  void read_input();
  void start_new();
  void tune();
  void tell_what_runs() const;
  void read_checkpoint_of_run();
  void start_from_checkpoint();
  void begin_outputs();
  void show_progress_from_here();
  void record_energies();
  void record_frame();
  void save_checkpoint();
  void look_at_balance();
  int asked_to_stop() const;
  Report make_report(double seconds);
  /// The settings in effect, as a run file.
  std::string settings_text() const { return to_toml(in_effect(config_, settings_)); }
  std::int64_t last_step() const { return config_.dynamics.steps; }
  double time_of(std::int64_t step) const { return static_cast<double>(step) * config_.dynamics.timestep; }
  static bool is_due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

  RunRequest request_;
  const comm::Communicator& comm_;
  RunConfig config_;
  model::System system_;
  md::EngineSettings settings_;
  CoordinateBlock block_;            // until a new run has started
  Checkpoint checkpoint_;            // of the root, until a restart has
  bool has_begun_ = false;           // a restart, or a new run of which step 1 is done
  std::vector<SchemeTrial> trials_;  // --tune
  std::vector<SplitTrial> split_trials_;
  std::optional<ThreadPool> threads_;
  std::optional<md::Engine> engine_;
  Averages averages_;
  std::int64_t first_step_ = 0;
  double work_at_look_ = 0;  // what this rank had worked when last it was looked at how even the ranks' work is
  std::optional<BalanceHistory> balance_;
  std::int64_t n_searches_before_ = 0, n_lists_before_ = 0;  // of engines that have made way for others
  // Root only.
  std::optional<OutputFiles> files_;
  nlohmann::json fingerprint_;  // of the system
  std::optional<ProgressLine> progress_;
};

Run::Run(const RunRequest& request, const comm::Communicator& comm) : request_(request), comm_(comm) {
  comm::listen_for_stop_signals();
  read_input();
  threads_.emplace(request.threads > 0 ? request.threads : static_cast<int>(config_.parallel.threads));
  on_root(comm, [&] {
    files_.emplace(config_, system_, request.restart);
    fingerprint_ = fingerprint(system_);
  });
  if (request.restart) read_checkpoint_of_run();
  if (request.tune) tune();
  engine_.emplace(system_, settings_, comm, *threads_);
  tell_what_runs();
  if (request.restart)
    start_from_checkpoint();
  else
    start_new();
}

/// Every rank reads alone; the verdict is everybody's.
void Run::read_input() {
  std::string problem;
  try {
    config_ = read_run_file(request_.run_file, request_.overrides);
    system_ = read_system(config_.input.system);
    settings_ = plan_settings(config_, system_);
    Trajectory::check(config_.output, system_);
    if (request_.tune && request_.restart)
      throw InputError("--tune chooses before step 1, and --restart goes on as the run was begun: leave one out");
    if (request_.tune && config_.parallel.pair_scheme != "auto")
      throw InputError(fmt::format("--tune chooses parallel.pair_scheme, which is set to \"{}\": leave one out",
                                   config_.parallel.pair_scheme));
    if (!request_.restart) block_ = read_coordinates(config_.input.system, comm_.rank(), comm_.size());
  } catch (const InputError& error) {
    problem = error.what();
  }
  comm::agree_on_input(comm_, problem);
}

void Run::start_new() {
  const bool has_velocities = comm::all_reduce_max(comm_, block_.velocity.empty() ? 0 : 1) != 0;
  auto velocities = config_.dynamics.velocities;
  if (velocities == Velocities::automatic) velocities = has_velocities ? Velocities::file : Velocities::generate;
  if (velocities == Velocities::file && !has_velocities)
    throw InputError(
        fmt::format("{} holds no velocities: set dynamics.velocities to \"generate\"", config_.input.system));
  if (velocities != Velocities::file)
    for (auto& v : block_.velocity) v = {};
  check_every_atom_once(comm_, block_, system_, config_.input.system);
  auto particles = make_particles(block_);
  block_ = {};
  engine_->set_state(std::move(particles), 0, 0);
  engine_->constrain_start();
  if (velocities == Velocities::generate)
    engine_->generate_velocities(config_.dynamics.temperature, static_cast<std::uint64_t>(config_.dynamics.seed));
  engine_->measure();
  averages_ = Averages(engine_->degrees_of_freedom());
  record_energies();
  record_frame();
}

/// What is chosen decides bits, so it may not differ between ranks: trials do not.
void Run::tune() {
  check_every_atom_once(comm_, block_, system_, config_.input.system);
  trials_ = try_pair_schemes(config_, system_, settings_, block_, comm_, *threads_);
  settings_.pair_scheme = trials_.front().scheme;
  if (may_choose_split(config_)) {
    split_trials_ = try_splits(config_, system_, settings_, block_, comm_, *threads_);
    settings_ = with_split(config_, system_, split_trials_.front().split, settings_.pair_scheme);
  }
  if (!comm_.is_root()) return;
  std::string text;
  for (const auto& trial : trials_)
    text += fmt::format("{}{} {:.2f} ms", text.empty() ? "" : ", ", trial.scheme, trial.ms_a_step);
  fmt::print(stderr, "tessera-md: note: pair_scheme = \"{}\" by trial, a step: {}\n", settings_.pair_scheme, text);
  if (split_trials_.empty()) return;
  text.clear();
  for (const auto& [split, ms_a_step] : split_trials_)
    text += fmt::format("{}{:.3f} Å {:.2f} ms", text.empty() ? "" : ", ", split.cutoff, ms_a_step);
  fmt::print(stderr, "tessera-md: note: pme.cutoff = {} Å, mesh {} × {} × {} by trial, a step: {}\n",
             settings_.pair.range(), settings_.pme_grid[0], settings_.pme_grid[1], settings_.pme_grid[2], text);
}

void Run::tell_what_runs() const {
  if (!comm_.is_root()) return;
  const auto note = note_of_source(config_, system_);
  if (!note.empty()) fmt::print(stderr, "tessera-md: note: {}\n", note);
  fmt::print("{}", describe_interactions(config_, system_, settings_));
  std::fflush(stdout);
}

/// A restart goes on with the pair scheme and the split of Ewald's sum that the run began with, unless the run file
/// names others.
void Run::read_checkpoint_of_run() {
  const auto schemes = md::pair::pair_schemes();
  struct Choice {
    std::int64_t scheme = -1, has_split = 0;
    md::pme::Split split;
  } choice;
  on_root(comm_, [&] {
    std::string note;
    checkpoint_ = read_checkpoint(config_.output.folder, note);
    if (config_.parallel.pair_scheme == "auto")
      settings_.pair_scheme = checkpoint_.settings.value("parallel.pair_scheme", settings_.pair_scheme);
    if (may_choose_split(config_) && was_split_tuned(checkpoint_)) {
      choice.has_split = 1;
      choice.split = {checkpoint_.settings.at("pme.cutoff"), checkpoint_.settings.at("pme.grid")};
      settings_ = with_split(config_, system_, choice.split, settings_.pair_scheme);
    }
    const auto differences = describe_differences(checkpoint_.settings, bit_settings(settings_, fingerprint_));
    if (!differences.empty())
      throw InputError(
          fmt::format("the checkpoint in {} is of another run: {}; a restart goes on with the same settings, "
                      "start a new run to change them",
                      config_.output.folder, differences));
    TESSERA_CHECK(static_cast<std::int64_t>(checkpoint_.particles.size()) == system_.n_atoms());
    const auto unheeded = describe_differences(checkpoint_.start, start_settings(config_.dynamics));
    if (!unheeded.empty())
      note += fmt::format("{}{}; that decides how a run begins, and a restart goes on as it is",
                          note.empty() ? "" : "; ", unheeded);
    if (checkpoint_.step >= last_step())
      throw InputError(
          fmt::format("the run in {} is done: its checkpoint is at step {} and dynamics.steps is {}; raise "
                      "dynamics.steps to go on",
                      config_.output.folder, checkpoint_.step, last_step()));
    if (checkpoint_.simd != md::pair::simd_target())
      note +=
          fmt::format("{}the checkpoint was written with {}, this machine has {}: the run goes on, but not bit for bit",
                      note.empty() ? "" : "; ", checkpoint_.simd, md::pair::simd_target());
    if (!note.empty()) fmt::print(stderr, "tessera-md: note: {}\n", note);
    const auto& chosen =
        md::pair::find_pair_scheme(settings_.pair_scheme, settings_.double_precision, settings_.pair.function);
    choice.scheme = &chosen - schemes.data();
  });
  comm_.broadcast(std::as_writable_bytes(std::span(&choice, 1)), 0);
  settings_.pair_scheme = schemes[static_cast<std::size_t>(choice.scheme)].name;
  if (choice.has_split != 0) settings_ = with_split(config_, system_, choice.split, settings_.pair_scheme);
}

void Run::start_from_checkpoint() {
  struct Numbers {
    std::int64_t step, last_search, rows, frames;
    Averages::State averages;
  } numbers = {checkpoint_.step, checkpoint_.last_search, checkpoint_.energy_rows, checkpoint_.trajectory_frames,
               checkpoint_.averages};
  comm_.broadcast(std::as_writable_bytes(std::span(&numbers, 1)), 0);
  engine_->set_state(std::move(checkpoint_.particles), numbers.step, numbers.last_search);
  checkpoint_ = {};
  engine_->measure();
  first_step_ = numbers.step;
  averages_ = Averages(numbers.averages);
  on_root(comm_, [&] {
    const auto note = files_->go_on(numbers.step, numbers.rows, numbers.frames, settings_text());
    if (!note.empty()) fmt::print(stderr, "tessera-md: note: {}\n", note);
    show_progress_from_here();
  });
  has_begun_ = true;
}

/// Until step 1 is done, a run may still fail on its input.
void Run::begin_outputs() {
  engine_->check();
  on_root(comm_, [&] {
    files_->begin(settings_text());
    show_progress_from_here();
  });
  has_begun_ = true;
}

void Run::show_progress_from_here() {
  auto style = config_.output.progress;
  // Under mpirun standard error is a pipe; `tessera run` says whether it ends on a terminal.
  const bool on_terminal = isatty(STDERR_FILENO) || std::getenv("TESSERA_TERMINAL") != nullptr;
  if (style == Progress::automatic) style = on_terminal ? Progress::line : Progress::log;
  if (style != Progress::none)
    progress_.emplace(style == Progress::line ? ProgressLine::Style::rewrite : ProgressLine::Style::append, first_step_,
                      last_step(), config_.dynamics.timestep, [](std::string_view text) {
                        std::fwrite(text.data(), 1, text.size(), stderr);
                        std::fflush(stderr);
                      });
}

void Run::record_energies() {
  const auto& e = engine_->energies();
  const auto step = engine_->current_step();
  averages_.add({time_of(step), e.potential(), e.kinetic, e.temperature, e.pressure});
  on_root(comm_, [&] {
    std::vector<double> row(e.term.begin(), e.term.end());
    for (const double value : {e.potential(), e.kinetic, e.total(), e.temperature, e.pressure, averages_.drift()})
      row.push_back(value);
    files_->add_row(step, row);
  });
}

void Run::record_frame() {
  if (Trajectory::path(config_.output).empty()) return;
  auto particles = gather_particles(*engine_, comm_);
  on_root(comm_, [&] { files_->add_frame(engine_->current_step(), std::move(particles)); });
}

void Run::save_checkpoint() {
  engine_->check();
  std::optional<CheckpointWriter> writer;
  on_root(comm_, [&] {
    const Checkpoint checkpoint = {.step = engine_->current_step(),
                                   .last_search = engine_->last_search(),
                                   .energy_rows = files_->n_rows(),
                                   .trajectory_frames = files_->n_frames(),
                                   .averages = averages_.state(),
                                   .simd = md::pair::simd_target(),
                                   .settings = bit_settings(settings_, fingerprint_),
                                   .start = start_settings(config_.dynamics),
                                   .particles = {}};
    writer.emplace(config_.output.folder, checkpoint, system_.n_atoms());
  });
  for_id_ranges(system_.n_atoms(), [&](std::int64_t begin, std::int64_t end) {
    const auto particles = gather_particles(*engine_, comm_, begin, end);
    on_root(comm_, [&] { writer->append(particles); });
  });
  on_root(comm_, [&] {
    writer->finish();
    files_->check_in_place(engine_->current_step());
  });
}

/// The signal that asks to stop, 0: none. It may reach one rank alone, so ranks ask each other at every few steps.
int Run::asked_to_stop() const {
  constexpr std::int64_t ask_every = 5;
  const auto step = engine_->current_step();
  return is_due(step, ask_every) && step < last_step() ? comm::agreed_stop_signal(comm_) : 0;
}

/// Gives cells to other ranks where that pays: a restart in memory, which no bit remembers.
void Run::look_at_balance() {
  const auto found = md::find_balance(engine_->domain(), engine_->work_seconds() - work_at_look_, comm_);
  if (!balance_) balance_ = BalanceHistory{found.imbalance, found.imbalance, 0};
  balance_->last = found.imbalance;
  work_at_look_ = engine_->work_seconds();
  const auto step = engine_->current_step();
  if (!found.better || step == last_step()) return;
  engine_->check();
  const auto particles = engine_->owned_particles();
  const auto last_search = engine_->last_search();
  const auto timers = engine_->timers();
  n_searches_before_ += engine_->n_searches();
  n_lists_before_ += engine_->pair_forces().n_lists();
  engine_.emplace(system_, settings_, *found.better, comm_, *threads_);
  engine_->set_state(particles, step, last_search);
  engine_->measure();
  engine_->timers() = timers;
  work_at_look_ = engine_->work_seconds();
  ++balance_->moves;
}

int Run::execute() {
  constexpr std::int64_t first_look = 25;  // steps; then at twice as many, and so on
  const bool may_balance = config_.parallel.balance && comm_.size() > 1;
  const auto start = std::chrono::steady_clock::now();
  engine_->timers().reset();
  std::int64_t last_look = first_step_;
  work_at_look_ = engine_->work_seconds();
  int stopped = 0;  // by which signal
  while (engine_->current_step() < last_step() && stopped == 0) {
    const auto step = engine_->current_step() + 1;
    const bool energies_due = is_due(step, config_.output.energy_every) || step == last_step();
    engine_->step(energies_due);
    if (!has_begun_) begin_outputs();
    if (energies_due) record_energies();
    if (is_due(step, config_.output.trajectory_every)) record_frame();
    stopped = asked_to_stop();
    if (is_due(step, config_.output.checkpoint_every) || step == last_step() || stopped != 0) save_checkpoint();
    const auto next_look = first_step_ + std::max(first_look, 2 * (last_look - first_step_));
    if (may_balance && stopped == 0 && (step == next_look || (step == last_step() && step - last_look >= first_look))) {
      look_at_balance();
      last_look = step;
    }
    if (progress_ && progress_->is_due(seconds_since(start)))
      progress_->show({step, engine_->energies().temperature, averages_.drift()}, seconds_since(start));
  }
  if (!has_begun_) begin_outputs();  // a run of no steps
  const double seconds = seconds_since(start);
  const auto report = make_report(seconds);
  on_root(comm_, [&] {
    if (progress_) {
      progress_->show({engine_->current_step(), engine_->energies().temperature, averages_.drift()}, seconds);
      progress_->finish();
    }
    write_report(config_.output.folder + "/report.json", report);
    auto text = report_text(report);
    if (stopped != 0)
      text += fmt::format("stopped by a signal at step {}; {}: its checkpoint is written, go on with --restart\n",
                          engine_->current_step(), comm::name_of_stop_signal(stopped));
    comm::print(text);
  });
  return stopped != 0 ? 128 + stopped : 0;  // as if the signal had ended it
}

Report Run::make_report(double seconds) {
  Report report;
  report.n_atoms = system_.n_atoms();
  report.ranks = comm_.size();
  report.threads = threads_->size();
  report.first_step = first_step_;
  report.last_step = engine_->current_step();
  report.timestep = config_.dynamics.timestep;
  report.wall_seconds = seconds;
  for (std::size_t q = 0; q < Averages::n_quantities; ++q) {
    const auto [mean, fluctuation] = averages_.average(static_cast<Averages::Quantity>(q));
    report.averages.push_back({Averages::names[q], Averages::units[q], mean, fluctuation});
  }
  report.drift = averages_.drift();
  report.folder = config_.output.folder;
  for (const auto* name :
       {"energy.csv", "trajectory.dcd", "trajectory.h5md", "checkpoint.tck", "settings.toml", "report.json"}) {
    std::error_code ignored;
    if (name == std::string_view("report.json") || std::filesystem::exists(report.folder + "/" + name, ignored))
      report.files.emplace_back(name);
  }
  report.to_go_on = restart_command(request_.run_file, request_.overrides, comm_.size(), request_.threads,
                                    report.last_step < last_step() ? 0 : 2 * last_step());
  if (request_.restart && comm_.is_root()) {
    std::string note;
    report.earlier_legs = read_legs(report.folder + "/report.json", note);
    if (!note.empty()) fmt::print(stderr, "tessera-md: note: {}\n", note);
  }
  for (const auto& use : engine_->memory())
    report.memory.owners.push_back({std::string(use.owner), comm::all_reduce_sum(comm_, use.bytes)});
  report.memory.peak = comm::all_reduce_sum(comm_, peak_bytes());
  report.memory.most_peak = comm::all_reduce_max(comm_, peak_bytes());
  auto sum = engine_->timers().seconds(), most = sum;
  comm_.all_reduce_sum_for_report(sum);
  comm_.all_reduce_max(std::span<double>(most));
  for (std::size_t p = 0; p < md::n_phases; ++p)
    report.phases.push_back({std::string(md::phase_names[p]), sum[p] / comm_.size(), most[p]});
  report.balance = balance_;
  report.halo = halo_traffic(engine_->domain().decomposition(), settings_, comm_);
  io::Checksum hash;
  for_id_ranges(system_.n_atoms(), [&](std::int64_t begin, std::int64_t end) {
    add_state(gather_particles(*engine_, comm_, begin, end), hash);
  });
  if (comm_.is_root()) report.state_hash = hash.finish();
  report.versions = {{"tessera", TESSERA_VERSION},
                     {"mpi", comm::Communicator::library_version()},
                     {"compiler", __VERSION__},
                     {"simd", md::pair::simd_target()}};
  report.machine = machine::describe_this_host();
  report.settings = to_json(in_effect(config_, settings_));
  report.results = {{"temperature_K", engine_->energies().temperature},
                    {"total_kcal_mol", engine_->energies().total()},
                    {"drift_kT_ns_dof", averages_.drift()},
                    {"degrees_of_freedom", engine_->degrees_of_freedom()},
                    {"pair_searches", n_searches_before_ + engine_->n_searches()},
                    {"pair_lists", n_lists_before_ + engine_->pair_forces().n_lists()},
                    {"pair_scheme", engine_->pair_forces().scheme().name},
                    {"pairs_evaluated", comm::all_reduce_sum(comm_, engine_->pair_forces().sum().n_evaluated())},
                    {"pair_list_bytes",
                     comm::all_reduce_sum(comm_, static_cast<std::int64_t>(engine_->pair_forces().sum().list_bytes()))},
                    {"buffer", settings_.buffer},
                    {"cells", engine_->domain().grid().n},
                    {"pme_cutoff", settings_.pair.range()},
                    {"pme_grid", settings_.pme_grid},
                    {"pme_alpha", settings_.pair.alpha}};
  for (const auto& trial : trials_) report.results["trial_ms_per_step"][trial.scheme] = trial.ms_a_step;
  for (const auto& [split, ms_a_step] : split_trials_)
    report.results["split_trials"].push_back(
        {{"pme_cutoff", split.cutoff}, {"pme_grid", split.grid}, {"ms_per_step", ms_a_step}});
  return report;
}

}  // namespace

int run(const RunRequest& request, const comm::Communicator& comm) { return Run(request, comm).execute(); }

}  // namespace tessera::app
