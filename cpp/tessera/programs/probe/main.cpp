// tessera-probe: measures the machine on which it runs and writes the map, or says whether a map still holds.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/job.h"
#include "tessera/comm/mpi/placement/hosts.h"
#include "tessera/comm/mpi/placement/placement.h"
#include "tessera/machine/survey/derive_network.h"
#include "tessera/programs/arguments.h"
#include "tessera/programs/probe/layout.h"
#include "tessera/programs/probe/survey.h"
#include "tessera/programs/probe/tasks.h"

namespace tessera::programs::probe {
namespace {

constexpr double seconds_for_traffic = 5;

enum Status { good = 0, stale = 1, bad_input = 2, failed = 3, broken = 70 };

struct Arguments {
  std::string output, merge, check, traffic;
  SurveyOptions survey;
  bool quiet = false;
};

/// Prints progress on stderr, at most every few seconds.
class Reporter {
 public:
  explicit Reporter(bool quiet) : quiet_(quiet) {}

  void operator()(const std::string& what, int done, int all, double left) {
    const auto now = std::chrono::steady_clock::now();
    const std::string kind = what.substr(0, what.find(','));
    if (quiet_ || (kind == last_kind_ && now < next_)) return;
    last_kind_ = kind;
    next_ = now + std::chrono::seconds(5);
    fmt::print(stderr, "tessera-probe: {}: {} of {}{}\n", what, done, all,
               left >= 0 ? fmt::format(", about {:.0f} s left", left) : "");
    std::fflush(stderr);
  }

 private:
  bool quiet_;
  std::string last_kind_;
  std::chrono::steady_clock::time_point next_;
};

/// Reads the old map on rank 0. All that can be wrong is found before anything is measured.
std::optional<machine::MachineFile> old_map(const Arguments& arguments) {
  const std::string& path = arguments.check.empty() ? arguments.merge : arguments.check;
  if (arguments.check.empty()) check_place_of_file(arguments.output);
  if (path.empty()) return std::nullopt;
  auto old = machine::read_machine_file(path);
  if (!old.measurements || !old.machine.network)
    throw InputError(fmt::format("{}: holds no measured network; give a map that tessera-probe -o has written", path));
  return old;
}

Status check(Crew& crew, const HostLayout& layout, const Arguments& arguments, const machine::MachineFile& old) {
  std::vector<machine::HostNow> hosts;
  for (int host = 0; host < layout.n_hosts(); ++host)
    hosts.push_back({layout.hosts[static_cast<std::size_t>(host)],
                     static_cast<int>(std::ranges::count(layout.host_of_rank, host))});
  const auto checks = spot_checks(crew, layout, old, 1.0);
  const auto differences = machine::what_is_stale(*old.measurements, *old.machine.network, hosts, checks);
  for (const auto& difference : differences) comm::print(fmt::format("{}: {}\n", arguments.check, difference));
  if (differences.empty()) {
    comm::print(fmt::format("{}: holds ({} hosts, {} spot checks)\n", arguments.check, hosts.size(), checks.size()));
    return good;
  }
  comm::print(fmt::format("{0}: stale; measure again: tessera machine measure -o {0}\n", arguments.check));
  return stale;
}

/// Prints what a survey found, in a line or two.
void say_what_was_found(const machine::MachineFile& map, double seconds, const Arguments& arguments) {
  const auto& network = *map.machine.network;
  const auto leaves = std::ranges::count_if(network.subnets, &machine::Subnet::is_leaf);
  const auto n_hosts = static_cast<int>(network.hosts.size());
  int n_measured = 0;
  for (int a = 0; a < n_hosts; ++a)
    for (int b = 0; b < a; ++b) n_measured += map.measurements->times.front().is_known(a, b) ? 1 : 0;
  if (network.hosts.size() == 1)
    fmt::print(stderr, "tessera-probe: all ranks are on one host: only its inside was measured, there is no network\n");
  fmt::print(stderr, "tessera-probe: {} hosts in {} subnets, {} of {} pairs measured in {:.0f} s; wrote {}\n", n_hosts,
             leaves, n_measured, n_hosts * (n_hosts - 1) / 2, seconds, comm::printable(arguments.output));
}

Status measure(Crew& crew, const HostLayout& layout, const Arguments& arguments,
               const std::optional<machine::MachineFile>& old) {
  Reporter reporter(arguments.quiet);
  const auto start = std::chrono::steady_clock::now();
  auto found = survey(crew, layout, arguments.survey, std::ref(reporter));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (old) found = machine::merge(*old->measurements, found);
  auto map = old.value_or(machine::MachineFile{});  // what else was measured stays
  map.machine = common_machine(layout, std::filesystem::path(arguments.output).stem().string());
  map.measurements = found;
  map.machine.network = machine::derive_network(found);
  write_atomically(arguments.output, machine::machine_file_text(map));
  if (!arguments.quiet) say_what_was_found(map, seconds, arguments);
  return good;
}

/// Runs on rank 0. Other ranks are dismissed with the status whatever happens.
Status lead(const HostLayout& layout, const Arguments& arguments, const std::optional<machine::MachineFile>& old) {
  Crew crew(MPI_COMM_WORLD);
  Status status = broken;
  try {
    status = arguments.check.empty() ? measure(crew, layout, arguments, old) : check(crew, layout, arguments, *old);
  } catch (const InputError& error) {
    fmt::print(stderr, "tessera-probe: error: {}\n", comm::printable(error.what()));
    status = bad_input;
  } catch (const RunError& error) {
    fmt::print(stderr, "tessera-probe: error: {}\n", comm::printable(error.what()));
    status = failed;
  }
  std::fflush(stdout);
  crew.dismiss(status);
  return status;
}

/// Measures the traffic of others on a network that is known, on all ranks.
Status measure_traffic_of(const Arguments& arguments, const comm::Communicator& comm) {
  const auto& path = arguments.traffic;
  std::optional<machine::MachineFile> map;
  std::string wrong;
  if (comm.is_root()) {
    try {
      map = machine::read_machine_file(path);
      (void)machine::network_of(*map, path);
    } catch (const InputError& error) {
      wrong = error.what();
    }
  }
  comm::agree_on_input(comm, wrong);
  const auto reading = comm::mpi::read_map(path, MPI_COMM_WORLD);
  const comm::mpi::Placement placement(MPI_COMM_WORLD, reading.network, {}, arguments.survey.seconds);
  comm::agree_on_input(comm, placement.warning().substr(0, placement.warning().find(';')));
  if (!comm.is_root()) return good;
  map->machine.network = *placement.network();
  write_atomically(path, machine::machine_file_text(*map));
  if (!arguments.quiet)
    fmt::print(stderr, "tessera-probe: others use {} wires; wrote that into {}\n",
               placement.network()->traffic->n_busy(), comm::printable(path));
  return good;
}

int run(int argc, char** argv, const comm::Communicator& comm) {
  CLI::App app{
      "Measures the hosts of a job and the network between them: mpirun -n 32 tessera-probe -o map.json\n"
      "One rank a host is enough; a second one measures the inside of the host."};
  Arguments arguments;
  app.add_option("-o,--output", arguments.output, "the map to write (JSON)");
  app.add_option("--sizes", arguments.survey.sizes, "message sizes in bytes, with commas between")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--repeats", arguments.survey.repeats, "passes over all pairs; the least time is kept")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--seconds", arguments.survey.seconds, "time that all of it may take")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  app.add_option("--merge", arguments.merge, "an older map of these hosts: the least times of both are kept");
  app.add_option("--check", arguments.check, "only say whether this map still holds; exit status 1 where not");
  app.add_option("--traffic", arguments.traffic, "only measure what others send now, and write it into this map");
  app.add_flag("-q,--quiet", arguments.quiet, "no progress");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    print_help(app, error, comm);
    return good;
  }
  if (!arguments.output.empty() + !arguments.check.empty() + !arguments.traffic.empty() != 1)
    throw InputError(
        "give either -o MAP to measure, --check MAP to see whether a map still holds, or --traffic MAP to measure the "
        "traffic of others");
  if (!arguments.traffic.empty()) {
    if (app.count("--seconds") == 0) arguments.survey.seconds = seconds_for_traffic;
    return measure_traffic_of(arguments, comm);
  }
  auto& sizes = arguments.survey.sizes;
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());

  std::optional<machine::MachineFile> old;
  std::string wrong;
  if (comm.is_root()) {
    try {
      old = old_map(arguments);
    } catch (const InputError& error) {
      wrong = error.what();
    }
  }
  comm::agree_on_input(comm, wrong);
  const auto layout = find_layout(comm);
  return comm.is_root() ? lead(layout, arguments, old) : obey(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace tessera::programs::probe

int main(int argc, char** argv) {
  return tessera::comm::run_job("tessera-probe",
                                [&](const auto& comm) { return tessera::programs::probe::run(argc, argv, comm); });
}
