// tessera-collectives: checks and times collectives under mpirun; docs/reference/collectives.md.
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tessera/comm/communicator.h"
#include "tessera/comm/job.h"
#include "tessera/programs/arguments.h"
#include "tessera/programs/collectives/check.h"
#include "tessera/programs/collectives/grid.h"
#include "tessera/programs/collectives/large.h"
#include "tessera/programs/collectives/operations.h"
#include "tessera/programs/collectives/timing.h"
#include "tessera/programs/collectives/tuning.h"

namespace tessera::programs {
namespace {

void print_on_root(const comm::Communicator& comm, const std::string& text, std::FILE* stream = stdout) {
  if (!comm.is_root()) return;
  std::fputs(text.c_str(), stream);
  std::fflush(stream);
}

int run(int argc, char** argv, comm::Communicator& comm) {
  CLI::App app{"Checks and times collectives; start it with mpirun."};
  app.require_subcommand(1);
  std::string cases, map;
  auto* check = app.add_subcommand("check", "compare with the MPI library's own on random data");
  check->add_option("cases", cases, "a case in each line, as JSON")->required();
  check->add_option("--map", map, "map of the machine; default: all hosts on one switch");
  LargeRequest large;
  auto* check_large_command = app.add_subcommand("large", "check a vector of more bytes than an int counts");
  check_large_command->add_option("--operation", large.operation, "broadcast or all_reduce")->capture_default_str();
  check_large_command->add_option("--count", large.count, "bytes of the vector")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->required();
  check_large_command->add_option("--entry", large.entry, "auto, native, or an entry")->capture_default_str();
  TimingRequest request;
  auto* time = app.add_subcommand("time", "time entries side by side");
  time->add_option("--map", request.map, "map of the machine; default: all hosts on one switch");
  time->add_option("--operation", request.operation, "broadcast, all_reduce, all_gatherv …")->required();
  time->add_option("--bytes", request.bytes, "of the vector, of the blocks of all ranks, or of a pair (all_to_all)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 50));
  time->add_option("--elements", request.elements, "datatype: double, float, int …");
  time->add_option("--root", request.root, "of broadcast, reduce, gather, scatter");
  time->add_option("--repeats", request.repeats, "turns of each entry")->check(CLI::Range(1, 1'000'000));
  time->add_option(
          "--entries", request.entries,
          "auto, predicted (auto, but without trials), native, ring, k_ary:degree=3, subnets:pattern=chain+star …")
      ->delimiter(',');
  time->add_option("--order", request.order, "\"job\", or \"shuffle:SEED\": ranks scattered over hosts");
  TuningRequest tuning;
  auto* tune_command = app.add_subcommand("tune", "try the most promising entries and keep what they took in the map");
  tune_command->add_option("map", tuning.map, "map of the machine")->required();
  tune_command->add_option("-o,--output", tuning.output, "map to write; default: the same");
  tune_command->add_option("--operations", tuning.operations, "broadcast, all_reduce, all_gather …")->delimiter(',');
  tune_command->add_option("--sizes", tuning.sizes, "bytes, as of time")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  tune_command->add_option("--seconds", tuning.seconds, "time that all of it may take")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  tune_command->add_option("--candidates", tuning.candidates, "of each operation and size")
      ->check(CLI::Range(1, 20))
      ->capture_default_str();
  GridRequest grid;
  auto* grid_command = app.add_subcommand("grid", "put ranks into a Cartesian grid along the network");
  grid_command->add_option("--dims", grid.dims, "places along each direction")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 30))
      ->required();
  grid_command->add_flag("--periodic", grid.is_periodic, "the last along each direction is a neighbour of the first");
  grid_command
      ->add_option("--as", grid.as, "what MPI is told of: grid, or the graph of its neighbours in one of three ways")
      ->check(CLI::IsMember({"grid", "graph", "distributed", "adjacent"}))
      ->capture_default_str();
  grid_command->add_option("--map", grid.map, "map of the machine; default: all hosts on one switch");
  grid_command->add_option("--network", grid.network, "instead: switch, racks, segments or quads");
  auto* operations = app.add_subcommand("operations", "check what the engine's communicator does, by every entry");
  auto* entries = app.add_subcommand("entries", "print which entries can do which operations");
  int n_ranks = comm.size();
  entries->add_option("--ranks", n_ranks, "so many ranks; default: those of this job")->check(CLI::Range(1, 100'000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    print_help(app, error, comm);
    return 0;
  }
  if (*entries) {
    print_on_root(comm, possible_entries(n_ranks).dump() + "\n");
    return 0;
  }
  if (*time) {
    const auto found = time_entries(request, MPI_COMM_WORLD);
    if (const std::string warning = found["warning"]; !warning.empty())
      print_on_root(comm, "tessera-collectives: " + warning + "\n", stderr);
    print_on_root(comm, found.dump() + "\n");
    return 0;
  }
  if (*tune_command) {
    if (tuning.output.empty()) tuning.output = tuning.map;
    print_on_root(comm, tune(tuning, MPI_COMM_WORLD).dump() + "\n");
    return 0;
  }
  if (*grid_command) {
    print_on_root(comm, make_grid(grid, MPI_COMM_WORLD).dump() + "\n");
    return 0;
  }
  if (*check_large_command) {
    const auto found = check_large(large, MPI_COMM_WORLD);
    print_on_root(comm, found.dump() + "\n");
    return found["wrong"] == 0 ? 0 : 1;
  }
  if (*operations) {
    const auto found = check_operations(comm);
    print_on_root(comm, found.dump() + "\n");
    return found["wrong"].empty() ? 0 : 1;
  }
  const auto found = check_cases(cases, map, MPI_COMM_WORLD);
  print_on_root(comm, found.dump() + "\n");
  return found["failures"].empty() ? 0 : 1;
}

}  // namespace
}  // namespace tessera::programs

int main(int argc, char** argv) {
  return tessera::comm::run_job("tessera-collectives",
                                [&](auto& comm) { return tessera::programs::run(argc, argv, comm); });
}
