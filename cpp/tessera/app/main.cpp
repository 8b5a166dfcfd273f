// tessera-md: the engine's command line.
#include <fmt/format.h>

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tessera/app/config/schema.h"
#include "tessera/app/device/facts.h"
#include "tessera/app/energy.h"
#include "tessera/app/explain/explain.h"
#include "tessera/app/minimize.h"
#include "tessera/app/stages/run_file.h"
#include "tessera/base/error.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/job.h"

namespace tessera::app {

namespace {

void print_on_root(const comm::Communicator& comm, const std::string& text) {
  if (comm.is_root()) comm::print(text);
}

int run_command(int argc, char** argv, comm::Communicator& comm) {
  limit_instruction_set();
  CLI::App app{"Tessera's engine. Run it alone, or under mpirun or srun: mpirun -n 4 tessera-md run.toml"};
  std::string run_file;
  std::string selections;
  bool restart = false, tune = false, check = false, lists_selections = false, version = false, defaults = false,
       schema = false, devices = false;
  double max_hours = 0;
  EnergyRequest energy;
  MinimizeRequest minimization;
  ExplainRequest explain_request;
  app.add_option("run_file", run_file, "what to run (TOML; see --print-defaults)");
  app.add_flag("--version", version, "print the version and stop");
  app.add_flag("--print-defaults", defaults, "print a run file with every key and stop");
  app.add_flag("--schema", schema, "print the run file's schema as JSON and stop");
  app.add_flag("--devices", devices, "print what GPUs there are, and whether kernels run on them, as JSON and stop");
  app.add_option("--energy", energy.system, "energies of a system file's configuration");
  app.add_flag("--json", energy.json, "print JSON");
  app.add_option("--forces", energy.forces, "with --energy: write forces (n,3) kcal/mol/Å to this NumPy file");
  app.add_option("--minimize", minimization.system, "minimise the energy of a system file's configuration");
  app.add_option("--positions", minimization.positions,
                 "with --minimize: write positions (n,3), in units of 2^-32 of the box, to this NumPy file");
  app.add_option("--max-force", minimization.settings.max_force, "with --minimize: stop below it, kcal/mol/Å");
  app.add_option("--steps", minimization.settings.max_steps, "with --minimize: stop after so many steps");
  app.add_option("--set", energy.overrides, "section.key=value over the run file's")->take_all();
  app.add_option("-t,--threads", energy.threads, "threads a rank")->check(CLI::Range(1, 4096));
  app.add_flag("--restart", restart, "continue from the newest checkpoint of output.folder");
  app.add_option("--max-hours", max_hours,
                 "stop with a checkpoint before so many hours of wall-clock time have passed since the start")
      ->check(CLI::Range(1e-9, 1e6));
  app.add_flag("--tune", tune, "before step 1, try splits of Ewald's sum, keep the fastest; recorded in checkpoints");
  app.add_option("--selections", selections, "what the selections in the run file come to, as tessera run writes it");
  app.add_flag("--list-selections", lists_selections, "print the selections that --selections must resolve, and stop");
  app.add_flag("--check", check, "only say whether the run file would run on --ranks; reads no coordinates");
  app.add_option("--explain", explain_request.run_file,
                 "what a run of this file would do; runs a few steps to predict");
  app.add_option("--ranks", explain_request.ranks, "with --explain and --check: plan for so many ranks")
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--cores-per-node", explain_request.cores_per_node,
                 "with --explain: hosts have so many cores each, not this one's")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--fill-cores", explain_request.fills_cores,
               "with --explain: as many threads as a rank has cores, of a map or of --cores-per-node; else -t");
  app.add_option("--measured-steps", explain_request.measured_steps,
                 "with --explain: length of the measurement; 0: none")
      ->check(CLI::Range(0, 1'000'000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream help, problem;
    if (app.exit(error, help, problem) != 0)
      throw InputError(fmt::format("{}; `tessera-md --help` lists the options", error.what()));
    print_on_root(comm, help.str());
    return 0;
  }
  if (std::isnan(max_hours)) throw InputError("--max-hours is nan, expected a number of hours");
  if (version) {
    print_on_root(comm, fmt::format("tessera {} ({}, {})\n", TESSERA_VERSION, comm::Communicator::library_version(),
                                    instruction_set()));
  } else if (defaults) {
    print_on_root(comm, print_defaults());
  } else if (schema) {
    print_on_root(comm, schema_to_json().dump(2) + "\n");
  } else if (devices) {
    if (comm.is_root()) comm::print(devices_to_json());
  } else if (!energy.system.empty()) {
    print_on_root(comm, compute_energy(energy, comm));
  } else if (!minimization.system.empty()) {
    minimization.overrides = energy.overrides;
    minimization.json = energy.json;
    minimization.threads = energy.threads;
    return minimize(minimization, comm);
  } else if (!explain_request.run_file.empty()) {
    if (comm.size() > 1) throw InputError("--explain plans for any --ranks on one: start it without mpirun");
    explain_request.overrides = energy.overrides;
    explain_request.json = energy.json;
    explain_request.selections = selections;
    explain_request.threads = energy.threads;
    print_on_root(comm, explain(explain_request));
  } else if (run_file.empty()) {
    throw InputError("nothing to do: give a run file (tessera-md run.toml), or see tessera-md --help");
  } else if (lists_selections) {
    print_on_root(comm, list_selections(run_file, energy.overrides));
  } else if (check) {
    check_run(run_file, energy.overrides, selections, restart, explain_request.ranks);
  } else {
    return app::run_file({run_file, energy.overrides, restart, tune, selections, energy.threads, max_hours}, comm);
  }
  return 0;
}

}  // namespace

}  // namespace tessera::app

int main(int argc, char** argv) {
  // Arrays of atoms come and go at every pair search: give them back to the system at once instead of keeping holes. (A
  // fixed threshold switches off glibc's habit of raising it.)
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow (`ulimit -f`) is an error of its write
  return tessera::comm::run_job("tessera-md", [&](auto& comm) { return tessera::app::run_command(argc, argv, comm); });
}
